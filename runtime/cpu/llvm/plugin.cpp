#define FRIT_LLVM_BUILD
#include "runtime/cpu/llvm/plugin.h"

#include <llvm-c/Core.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/CodeGen/MachineDominators.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/MachineOptimizationRemarkEmitter.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

/// What stops LLVM for good elsewhere ("cannot select") is a refusal of one text here.
struct FatalLlvmError {
  std::string message;
};
thread_local bool compiling = false;

void on_fatal_error(void*, const char* reason, bool) {
  if (compiling) throw FatalLlvmError{reason};
}

void initialize_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    llvm::install_fatal_error_handler(on_fatal_error);
  });
}

/// Whether a remark is about a loop that holds no other. The remark does not say, so the loops are found again; that
/// is done for kernels that spill only.
bool is_about_innermost_loop(const llvm::DiagnosticInfoOptimizationBase& remark) {
  const auto* of_machine = llvm::dyn_cast<llvm::DiagnosticInfoMIROptimization>(&remark);
  if (of_machine == nullptr || of_machine->getBlock() == nullptr) return false;
  const llvm::MachineBasicBlock* header = of_machine->getBlock();
  llvm::MachineDominatorTree dominators(*const_cast<llvm::MachineFunction*>(header->getParent()));
  const llvm::MachineLoopInfo loops(dominators);
  const llvm::MachineLoop* loop = loops.getLoopFor(header);
  return loop != nullptr && loop->isInnermost();
}

/// Collects the errors, and what the register allocator and the frame layout remark.
class Listener final : public llvm::DiagnosticHandler {
 public:
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (const auto* remark = llvm::dyn_cast<llvm::DiagnosticInfoOptimizationBase>(&info)) {
      note(*remark);
    } else if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      stream << "\n";
    }
    return true;
  }
  bool isAnalysisRemarkEnabled(llvm::StringRef pass) const override { return pass == "prologepilog"; }
  bool isMissedOptRemarkEnabled(llvm::StringRef pass) const override { return pass == "regalloc"; }
  bool isPassedOptRemarkEnabled(llvm::StringRef) const override { return false; }
  bool isAnyRemarkEnabled() const override { return true; }

  std::string errors, remarks;
  int64_t spills = 0, reloads = 0, inner_loop_spills = 0, stack_bytes = 0;
  double loop_cost = 0;

 private:
  void note(const llvm::DiagnosticInfoOptimizationBase& remark) {
    if (remark.getPassName() != "regalloc" && remark.getPassName() != "prologepilog") return;
    // Copies between registers are not counted: good kernels report those too.
    int64_t spilled = 0, reloaded = 0;
    double cost = 0;
    for (const auto& argument : remark.getArgs()) {
      const double value = std::strtod(argument.Val.c_str(), nullptr);
      const llvm::StringRef key = argument.Key;
      if (key == "NumSpills" || key == "NumFoldedSpills") spilled += static_cast<int64_t>(value);
      if (key == "NumReloads" || key == "NumFoldedReloads") reloaded += static_cast<int64_t>(value);
      if (key.starts_with("Total") && (key.contains("Spills") || key.contains("Reloads"))) cost += value;
      if (key == "NumStackBytes") stack_bytes = static_cast<int64_t>(value);
    }
    if (remark.getRemarkName() == "SpillReloadCopies") {  // of the whole function
      spills += spilled;
      reloads += reloaded;
    } else if (remark.getRemarkName() == "LoopSpillReloadCopies") {
      loop_cost = std::max(loop_cost, cost);
      if (spilled + reloaded > inner_loop_spills && is_about_innermost_loop(remark)) {
        inner_loop_spills = spilled + reloaded;
      }
    }
    remarks += remark.getPassName().str() + ": " + remark.getMsg() + "\n";
  }
};

/// Lowering owns the addresses. Loop strength reduction undoes them (spills, half the speed), and there is no option
/// for it that is not global to the process.
class PassManager final : public llvm::legacy::PassManager {
 public:
  explicit PassManager(bool hoists_constants) : hoists_constants_(hoists_constants) {}

  void add(llvm::Pass* pass) override {
    const llvm::StringRef name = pass->getPassName();
    if (name == "Loop Strength Reduction" ||
        (!hoists_constants_ && name == "Early Machine Loop Invariant Code Motion")) {
      delete pass;
      return;
    }
    llvm::legacy::PassManager::add(pass);
  }

 private:
  bool hoists_constants_;
};

std::unique_ptr<llvm::TargetMachine> make_machine(const FritLlvmRequest& request, std::string& error) {
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (target == nullptr) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // contraction is written as fma by lowering, or not at all
  const auto level = static_cast<llvm::CodeGenOptLevel>(request.opt_level);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, request.cpu, request.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
}

std::unique_ptr<llvm::Module> parse(const FritLlvmRequest& request, const llvm::TargetMachine& machine,
                                    llvm::LLVMContext& context, std::string& error) {
  const std::string layout = machine.createDataLayout().getStringRepresentation();
  llvm::SMDiagnostic diagnostic;
  auto module =
      llvm::parseAssembly(llvm::MemoryBufferRef({request.text, request.text_size}, "kernel.ll"), diagnostic, context,
                          nullptr, [&](llvm::StringRef, llvm::StringRef) { return std::string(layout); });
  llvm::raw_string_ostream stream(error);
  if (!module) {
    diagnostic.print("", stream, false, false);
    return nullptr;
  }
  module->setTargetTriple(kTriple);
  if (llvm::verifyModule(*module, &stream)) return nullptr;
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.getName() == request.symbol) continue;
    stream << "the text defines " << function.getName() << "; it may define " << request.symbol << " only";
    return nullptr;
  }
  const llvm::Function* kernel = module->getFunction(request.symbol);
  if (kernel == nullptr || kernel->isDeclaration()) {
    stream << "the text does not define " << request.symbol;
    return nullptr;
  }
  return module;
}

char* copy_text(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

/// The object, or empty with `error` set.
llvm::SmallString<0> attempt(const FritLlvmRequest& request, bool hoists_constants, FritLlvmResult& result,
                             std::string& error) {
  llvm::LLVMContext context;
  auto owned = std::make_unique<Listener>();
  Listener* listener = owned.get();
  context.setDiagnosticHandler(std::move(owned));
  llvm::SmallString<0> object;
  const auto machine = make_machine(request, error);
  if (!machine) return object;
  const auto module = parse(request, *machine, context, error);
  if (!module) return object;
  llvm::raw_svector_ostream stream(object);
  PassManager passes(hoists_constants);
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    error = "this LLVM writes no objects for " + std::string(kTriple);
    return object;
  }
  passes.run(*module);
  error = listener->errors;
  result.remarks = copy_text(listener->remarks);
  result.spills = listener->spills;
  result.reloads = listener->reloads;
  result.inner_loop_spills = listener->inner_loop_spills;
  result.stack_bytes = listener->stack_bytes;
  result.loop_cost = listener->loop_cost;
  return object;
}

/// Machine code motion hoists constants (of masks, of other branches) above an outer loop and keeps them in registers
/// across the innermost ones, though a tile there needs all of them. So where an innermost loop spills, code is
/// generated again without, and the better is taken.
llvm::SmallString<0> generate(const FritLlvmRequest& request, FritLlvmResult& result, std::string& error) {
  llvm::SmallString<0> object = attempt(request, true, result, error);
  if (!error.empty() || result.inner_loop_spills == 0) return object;
  FritLlvmResult second = {};
  llvm::SmallString<0> other = attempt(request, false, second, error);
  if (!error.empty()) return other;
  const bool is_better = second.inner_loop_spills < result.inner_loop_spills;
  std::free(is_better ? result.remarks : second.remarks);
  if (!is_better) return object;
  result = second;
  return other;
}

}  // namespace

uint32_t frit_llvm_abi() { return kFritLlvmAbi; }

const char* frit_llvm_version() {
  static const std::string version = [] {
    unsigned major = 0, minor = 0, patch = 0;
    LLVMGetVersion(&major, &minor, &patch);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  }();
  return version.c_str();
}

int frit_llvm_compile(const FritLlvmRequest* request, FritLlvmResult* result) {
  *result = {};
  initialize_once();
  std::string error;
  compiling = true;
  try {
    const llvm::SmallString<0> object = generate(*request, *result, error);
    if (error.empty()) {
      result->object = static_cast<uint8_t*>(std::malloc(object.size()));
      if (result->object == nullptr)
        error = "out of memory";
      else
        std::memcpy(result->object, object.data(), object.size());
      result->object_size = object.size();
    }
  } catch (const FatalLlvmError& fatal) {
    error = fatal.message;
  } catch (const std::exception& other) {
    error = other.what();
  }
  compiling = false;
  if (error.empty()) return 0;
  result->error = copy_text(error);
  return 1;
}

void frit_llvm_release(FritLlvmResult* result) {
  std::free(result->object);
  std::free(result->error);
  std::free(result->remarks);
  *result = {};
}
