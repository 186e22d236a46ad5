#include "compiler/front/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "support/error.h"

namespace frit {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = 1 << 16;
constexpr size_t kMaxRank = 32;

[[noreturn]] void refuse(const std::string& name, std::string what, std::string got, std::string expected) {
  throw InputError(Finding{.where = name,
                           .what = std::move(what),
                           .excerpt = {},
                           .got = std::move(got),
                           .expected = std::move(expected),
                           .fix = {},
                           .from = {}});
}

struct Format {
  char kind;
  int size;
  DType dtype;
};
constexpr Format kFormats[] = {
    {'b', 1, DType::Bool}, {'i', 1, DType::I8},  {'i', 2, DType::I16}, {'i', 4, DType::I32}, {'i', 8, DType::I64},
    {'u', 1, DType::U8},   {'u', 2, DType::U16}, {'u', 4, DType::U32}, {'u', 8, DType::U64}, {'f', 2, DType::F16},
    {'V', 2, DType::BF16}, {'f', 4, DType::F32}, {'f', 8, DType::F64},
};

// The header is a Python dict: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
struct Header {
  std::string descr;
  bool is_fortran = false;
  std::vector<int64_t> shape;
};

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header read() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    need('{');
    while (!take('}')) {
      const std::string key = quoted();
      need(':');
      if (key == "descr") {
        header.descr = quoted();
        has_descr = true;
      } else if (key == "fortran_order") {
        header.is_fortran = truth();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("descr, fortran_order or shape");
      }
      if (!take(',')) {
        need('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail("descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void fail(std::string expected) const {
    refuse(name_, "damaged npy header", fmt::format("{:?}", text_.substr(0, 40)), std::move(expected));
  }
  void skip_spaces() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t')) text_.remove_prefix(1);
  }
  bool take(char c) {
    skip_spaces();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(fmt::format("'{}'", c));
  }
  std::string quoted() {
    skip_spaces();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) fail("a quoted word");
    const size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) fail("a closing quote");
    std::string word(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return word;
  }
  bool truth() {
    skip_spaces();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    fail("True or False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> shape;
    need('(');
    while (!take(')')) {
      skip_spaces();
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0 || shape.size() == kMaxRank) fail("up to 32 extents from 0");
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      take('L');  // written by Python 2
      shape.push_back(extent);
      if (!take(',')) {
        need(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& name_;
};

struct Descr {
  DType dtype;
  bool is_big_endian;
};

Descr parse_descr(const std::string& descr, const std::string& name) {
  const std::string_view word = descr;
  for (const Format& format : kFormats) {
    const std::string plain = fmt::format("{}{}", format.kind, format.size);
    if (word.size() == plain.size() + 1 && word.substr(1) == plain &&
        std::string_view("<>|=").find(word[0]) != std::string_view::npos)
      return {format.dtype, word[0] == '>' && format.size > 1};
  }
  throw UnsupportedError(Finding{.where = name,
                                 .what = "an element type that Frit has not",
                                 .excerpt = {},
                                 .got = fmt::format("{:?}", word.substr(0, 40)),
                                 .expected = "bool, an integer or a float up to 64 bits",
                                 .fix = "convert it with numpy's astype",
                                 .from = {}});
}

void swap_bytes(std::byte* data, size_t bytes, size_t size) {
  for (size_t i = 0; i + size <= bytes; i += size) std::reverse(data + i, data + i + size);
}

// Column-major data in row-major order.
void copy_fortran(const char* from, std::byte* to, const std::vector<int64_t>& shape, size_t size) {
  std::vector<int64_t> at(shape.size(), 0), stride(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  const int64_t count = element_count(shape);
  int64_t source = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(source) * size, size);
    for (size_t d = shape.size(); d-- > 0;) {
      source += stride[d];
      if (++at[d] < shape[d]) break;
      source -= stride[d] * shape[d];
      at[d] = 0;
    }
  }
}

}  // namespace

Array decode_npy(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 10 || !bytes.starts_with(kMagic))
    refuse(name, "not an npy file", fmt::format("{} bytes", bytes.size()), "the magic \\x93NUMPY");
  const auto byte_at = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const size_t version = byte_at(6);
  if (version < 1 || version > 3) refuse(name, "unknown npy version", std::to_string(version), "1 to 3");
  const size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) refuse(name, "truncated npy header", fmt::format("{} bytes", bytes.size()), "a header");
  size_t length = byte_at(8) | byte_at(9) << 8;
  if (version > 1) length |= byte_at(10) << 16 | byte_at(11) << 24;
  if (length > kMaxHeaderBytes || length > bytes.size() - start)
    refuse(name, "npy header is too long", fmt::format("{} bytes", length),
           fmt::format("at most {}", std::min(kMaxHeaderBytes, bytes.size() - start)));
  const Header header = HeaderReader(bytes.substr(start, length), name).read();
  const Descr descr = parse_descr(header.descr, name);
  const std::string_view data = bytes.substr(start + length);
  const auto size = static_cast<size_t>(size_bytes(descr.dtype));
  const int64_t count = element_count(header.shape);
  if (static_cast<uint64_t>(count) != data.size() / size || data.size() % size != 0)
    refuse(name, "npy data does not fit its shape", fmt::format("{} bytes", data.size()),
           fmt::format("{} elements of {}", count, frit::name(descr.dtype)));
  Array array(descr.dtype, header.shape);
  if (header.is_fortran && header.shape.size() > 1)
    copy_fortran(data.data(), array.mutable_data(), header.shape, size);
  else if (!data.empty())
    std::memcpy(array.mutable_data(), data.data(), data.size());
  if (descr.is_big_endian) swap_bytes(array.mutable_data(), array.size_bytes(), size);
  if (descr.dtype == DType::Bool) {
    for (int64_t i = 0; i < count; ++i) array.as_mutable<uint8_t>()[i] = array.as<uint8_t>()[i] != 0;
  }
  return array;
}

std::string encode_npy(const Array& array) {
  const Format* format =
      std::find_if(std::begin(kFormats), std::end(kFormats), [&](const Format& f) { return f.dtype == array.dtype(); });
  std::string shape;
  for (const int64_t extent : array.shape()) shape += fmt::format("{}, ", extent);
  if (array.rank() > 1) shape.resize(shape.size() - 2);
  if (array.rank() == 1) shape.resize(shape.size() - 1);
  std::string header = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   format->size == 1 ? '|' : '<', format->kind, format->size, shape);
  const size_t start = 10;
  header.append(63 - (start + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  if (array.size_bytes() > 0) bytes.append(reinterpret_cast<const char*>(array.data()), array.size_bytes());
  return bytes;
}

Array read_npy(const std::filesystem::path& path) { return decode_npy(read_file(path), path.string()); }

void write_npy(const std::filesystem::path& path, const Array& array) { write_file(path, encode_npy(array)); }

}  // namespace frit
