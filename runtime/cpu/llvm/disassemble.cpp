#define FRIT_LLVM_BUILD
#include <llvm-c/Target.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cpu/llvm/plugin.h"

namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
constexpr unsigned kIntelSyntax = 1;

void initialize_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
  });
}

struct Decoded {
  uint64_t at = 0;
  std::string text;
  bool jumps = false;
  uint64_t target = 0;
};

class Disassembler {
 public:
  Disassembler(const char* cpu, const char* features) {
    std::string error;
    target_ = llvm::TargetRegistry::lookupTarget(kTriple, error);
    if (target_ == nullptr) return;
    registers_.reset(target_->createMCRegInfo(kTriple));
    assembly_.reset(target_->createMCAsmInfo(*registers_, kTriple, options_));
    subtarget_.reset(target_->createMCSubtargetInfo(kTriple, cpu, features));
    instructions_.reset(target_->createMCInstrInfo());
    analysis_.reset(target_->createMCInstrAnalysis(instructions_.get()));
    context_ =
        std::make_unique<llvm::MCContext>(llvm::Triple(kTriple), assembly_.get(), registers_.get(), subtarget_.get());
    decoder_.reset(target_->createMCDisassembler(*subtarget_, *context_));
    printer_.reset(
        target_->createMCInstPrinter(llvm::Triple(kTriple), kIntelSyntax, *assembly_, *instructions_, *registers_));
  }

  // Constants follow the code: it ends with the first return that no jump seen so far goes beyond.
  bool run(llvm::ArrayRef<uint8_t> bytes, uint64_t entry, std::vector<Decoded>& code) {
    if (!decoder_ || !printer_) return false;
    uint64_t furthest = entry;
    for (uint64_t at = entry; at < bytes.size();) {
      llvm::MCInst instruction;
      uint64_t size = 0;
      const auto status = decoder_->getInstruction(instruction, size, bytes.slice(at), at, llvm::nulls());
      if (status != llvm::MCDisassembler::Success || size == 0) return false;
      Decoded& line = code.emplace_back();
      line.at = at;
      llvm::raw_string_ostream stream(line.text);
      printer_->printInst(&instruction, at, "", *subtarget_, stream);
      stream.flush();
      line.jumps = analysis_->evaluateBranch(instruction, at, size, line.target);
      if (line.jumps) furthest = std::max(furthest, line.target);
      at += size;
      if (analysis_->isReturn(instruction) && furthest < at) return true;
    }
    return false;
  }

 private:
  llvm::MCTargetOptions options_;
  const llvm::Target* target_ = nullptr;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> decoder_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

// "\tadd\trax, 1" becomes "add rax, 1"; a jump names its label.
std::string tidy(const Decoded& line, const std::map<uint64_t, std::string>& labels) {
  std::string text;
  for (const char c : line.text) {
    const bool space = c == '\t' || c == ' ';
    if (space && (text.empty() || text.back() == ' ')) continue;
    text += space ? ' ' : c;
  }
  if (line.jumps) text = text.substr(0, text.find(' ')) + " " + labels.at(line.target);
  return text;
}

std::string print(const std::vector<Decoded>& code) {
  std::map<uint64_t, std::string> labels;
  for (const Decoded& line : code)
    if (line.jumps) labels[line.target];
  int next = 0;
  for (auto& [at, label] : labels) label = "b" + std::to_string(next++);
  std::string text;
  for (const Decoded& line : code) {
    const auto label = labels.find(line.at);
    if (label != labels.end()) text += label->second + ":\n";
    text += "  " + tidy(line, labels) + "\n";
  }
  return text;
}

}  // namespace

char* frit_llvm_disassemble(const uint8_t* bytes, size_t size, size_t entry, const char* cpu, const char* features) {
  initialize_once();
  std::vector<Decoded> code;
  if (!Disassembler(cpu, features).run({bytes, size}, entry, code)) return nullptr;
  const std::string text = print(code);
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}
