#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "lang/snippet.h"

namespace frit::testing {

/// A definition `f` of a few statements over three dims, and its operands. The same seed gives the same first
/// statements whatever their number, so that a failing text is made small by leaving out the last ones.
class RandomSnippet {
 public:
  RandomSnippet(uint64_t seed, int statements) : random_(seed) {
    static const std::vector<int64_t> sizes = {1, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 65};
    for (int64_t& extent : extents_) extent = sizes[number(sizes.size())];
    std::string signature = add_operand("ijk", DType::F32);
    for (const char* indices : {"ij", "k", "kj"})
      signature += ", " + add_operand(indices, number(4) == 0 ? DType::F16 : number(6) == 0 ? DType::I32 : DType::F32);
    for (int s = 0; s < statements; ++s) add_statement();
    text = "def f(" + signature + ") {\n" + body_ + "  return " + tensors_.back().name;
    if (tensors_.size() > 5) text += ", " + tensors_[4 + number(tensors_.size() - 5)].name;
    text += "\n}\n";
  }

  std::string text;
  std::vector<OperandSpec> operands;

 private:
  struct Tensor {
    std::string name, indices;
    bool is_float = true;
  };

  size_t number(size_t below) { return random_() % below; }
  int64_t extent(char index) const { return extents_[index - 'i']; }
  static std::string listed(const std::string& indices) {
    std::string text;
    for (const char c : indices) text += (text.empty() ? "" : ", ") + std::string(1, c);
    return text;
  }

  std::string add_operand(const std::string& indices, DType dtype) {
    const std::string name = "x" + std::to_string(operands.size());
    OperandSpec operand{dtype, {}, false, {}, false};
    for (const char c : indices) operand.shape.push_back(extent(c));
    operands.push_back(operand);
    tensors_.push_back({name, indices, is_float(dtype)});
    return name + "[" + listed(indices) + "]";
  }

  // An f32 value of a tensor at its own indices.
  static std::string value(const Tensor& t) {
    const std::string read = t.name + "[" + listed(t.indices) + "]";
    return t.is_float ? read : "f32(" + read + ")*0.01";
  }
  const Tensor& any() { return tensors_[number(3) == 0 ? number(tensors_.size()) : tensors_.size() - 1 - number(2)]; }
  const Tensor& with_index(char* index) {
    for (int tries = 0; tries < 20; ++tries) {
      const Tensor& t = any();
      if (t.indices.empty()) continue;
      *index = t.indices[number(t.indices.size())];
      return t;
    }
    *index = 'j';
    return tensors_[0];
  }
  static std::string without(std::string indices, char index) {
    std::erase(indices, index);
    return indices;
  }
  std::string united(std::string a, const std::string& b) {
    for (const char c : b)
      if (a.find(c) == std::string::npos) a += c;
    if (number(3) == 0) std::shuffle(a.begin(), a.end(), random_);
    return a;
  }
  void define(const std::string& indices, const std::string& formula) {
    const std::string name = "t" + std::to_string(tensors_.size());
    body_ += "  " + name + "[" + listed(indices) + "] = " + formula + "\n";
    tensors_.push_back({name, indices, true});
  }

  void add_statement() {
    char i = 'i';
    switch (number(9)) {
      case 0:
      case 1: {
        const Tensor a = any(), b = any();
        static const char* const forms[] = {" + 0.5*", " - ", "*0.5*", "*tanh(0.3) + "};
        define(united(a.indices, b.indices), value(a) + forms[number(4)] + value(b));
        return;
      }
      case 2: {
        const Tensor a = any();
        static const char* const functions[] = {"tanh", "sigmoid", "abs", "sin", "square", "exp"};
        const size_t f = number(6);
        define(a.indices, std::string(functions[f]) + "(" + (f == 5 ? "-abs(" : "0.5*(") + value(a) + "))");
        return;
      }
      case 3: {
        const Tensor a = with_index(&i);
        static const char* const reducers[] = {"sum", "max", "min", "mean"};
        define(without(a.indices, i),
               std::string(reducers[number(4)]) + "[" + i + "](" + value(a) + ")" + (number(2) ? "*0.25" : ""));
        return;
      }
      case 4: {
        const Tensor a = with_index(&i), b = any();
        define(without(united(a.indices, b.indices), i),
               std::string("sum[") + i + "](" + value(a) + "*" + value(b) + ")" + (number(2) ? " + 1" : ""));
        return;
      }
      case 5: {
        const Tensor a = with_index(&i);
        if (!a.is_float) return define(a.indices, value(a));
        std::string moved = a.name + "[" + listed(a.indices) + "]";
        const size_t at = moved.find(i, a.name.size());
        moved.replace(at, 1, std::string(1, i) + (number(2) ? " - 1" : " + 2"));
        define(a.indices, "(" + moved + " else 0.5) + " + value(a));
        return;
      }
      case 6: {
        const Tensor a = with_index(&i);
        define(without(a.indices, i), std::string("fold[") + i + "](s = 1.0 : s*0.5 + " + value(a) + ")");
        return;
      }
      case 7: {
        const Tensor a = with_index(&i);
        define(a.indices,
               std::string("select(index(") + i + ") % 3 == 0, " + value(a) + ", 0.25*f32(index(" + i + ")))");
        return;
      }
      default: {
        const Tensor a = with_index(&i);
        define(without(a.indices, i), std::string("max[") + i + "](" + value(a) + ")");
        const Tensor m = tensors_.back();
        define(a.indices, "exp(" + value(a) + " - " + value(m) + ")");
        return;
      }
    }
  }

  std::mt19937_64 random_;
  int64_t extents_[3] = {};
  std::vector<Tensor> tensors_;
  std::string body_;
};

}  // namespace frit::testing
