#include "runtime/cpu/image.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr size_t kMaxImageBytes = size_t{64} << 20;
constexpr uint64_t kMaxAlignment = 4096;  // images start on a page

/// Reads an object with every access inside its bytes; the findings name the kernel.
class ObjectReader {
 public:
  ObjectReader(std::string_view object, std::string_view kernel_name) : object_(object), kernel_(kernel_name) {}

  void check(bool condition, std::string_view what) const {
    FRIT_CHECK(condition, fmt::format("object of kernel \"{}\": {}", kernel_, what));
  }

  std::string_view slice(uint64_t offset, uint64_t size, std::string_view what) const {
    check(offset <= object_.size() && size <= object_.size() - offset, fmt::format("{} leaves the object", what));
    return object_.substr(offset, size);
  }

  template <class T>
  std::vector<T> table(uint64_t offset, uint64_t size, std::string_view what) const {
    check(size % sizeof(T) == 0, fmt::format("{} has a broken size", what));
    const std::string_view bytes = slice(offset, size, what);
    std::vector<T> items(size / sizeof(T));
    if (!items.empty()) std::memcpy(items.data(), bytes.data(), size);
    return items;
  }

  std::string name_at(std::string_view strings, uint64_t offset) const {
    check(offset < strings.size(), "a name leaves its string table");
    const std::string_view rest = strings.substr(offset);
    const size_t end = rest.find('\0');
    check(end != std::string_view::npos, "a name has no end");
    return std::string(rest.substr(0, end));
  }

 private:
  std::string_view object_, kernel_;
};

class Flattener {
 public:
  Flattener(std::string_view object, std::string_view kernel_name) : reader_(object, kernel_name) {
    read_headers();
    read_symbols();
  }

  Image run(std::string_view symbol) {
    place_sections();
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_RELA) apply_relocations(section);
      reader_.check(section.sh_type != SHT_REL, "relocations without addend");
    }
    image_.entry = entry_of(symbol);
    return std::move(image_);
  }

 private:
  void read_headers() {
    const auto header = reader_.table<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr), "the header")[0];
    reader_.check(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                      header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_REL &&
                      header.e_machine == EM_X86_64 && header.e_shentsize == sizeof(Elf64_Shdr),
                  "not a relocatable x86-64 object");
    sections_ =
        reader_.table<Elf64_Shdr>(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), "section table");
    reader_.check(header.e_shstrndx < sections_.size(), "no section names");
    const Elf64_Shdr& names = sections_[header.e_shstrndx];
    section_names_ = reader_.slice(names.sh_offset, names.sh_size, "section names");
  }

  void read_symbols() {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      reader_.check(symbols_.empty() && section.sh_link < sections_.size(), "broken symbol table");
      symbols_ = reader_.table<Elf64_Sym>(section.sh_offset, section.sh_size, "symbol table");
      const Elf64_Shdr& names = sections_[section.sh_link];
      symbol_names_ = reader_.slice(names.sh_offset, names.sh_size, "symbol names");
    }
  }

  std::string section_name(const Elf64_Shdr& section) const { return reader_.name_at(section_names_, section.sh_name); }

  /// Unwind tables are not registered, so they are not loaded; kernels neither throw nor are unwound.
  bool is_loaded(const Elf64_Shdr& section) const {
    return (section.sh_flags & SHF_ALLOC) != 0 && section.sh_size != 0 && section.sh_type != SHT_X86_64_UNWIND &&
           section.sh_type != SHT_NOTE && section_name(section) != ".eh_frame";
  }

  void place_sections() {
    offsets_.resize(sections_.size());
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& section = sections_[i];
      if (!is_loaded(section)) continue;
      const std::string name = section_name(section);
      reader_.check((section.sh_flags & (SHF_WRITE | SHF_TLS)) == 0, fmt::format("writable section {}", name));
      reader_.check(section.sh_type == SHT_PROGBITS, fmt::format("section {} of unknown type", name));
      const uint64_t alignment = section.sh_addralign == 0 ? 1 : section.sh_addralign;
      reader_.check(std::has_single_bit(alignment) && alignment <= kMaxAlignment,
                    fmt::format("section {} has alignment {}", name, alignment));
      const size_t start = (image_.bytes.size() + alignment - 1) / alignment * alignment;
      const std::string_view contents = reader_.slice(section.sh_offset, section.sh_size, name);
      reader_.check(start + contents.size() <= kMaxImageBytes, "more than 64 MiB of code");
      image_.bytes.resize(start, '\0');
      image_.bytes += contents;
      offsets_[i] = start;
    }
  }

  /// Offset of a symbol in the image.
  int64_t resolve(const Elf64_Sym& symbol) const {
    const std::string name = reader_.name_at(symbol_names_, symbol.st_name);
    reader_.check(symbol.st_shndx != SHN_UNDEF, fmt::format("undefined symbol {}", name));
    reader_.check(symbol.st_shndx < sections_.size() && offsets_[symbol.st_shndx].has_value(),
                  fmt::format("symbol {} lies in no loaded section", name));
    reader_.check(symbol.st_value <= sections_[symbol.st_shndx].sh_size,
                  fmt::format("symbol {} leaves its section", name));
    return static_cast<int64_t>(*offsets_[symbol.st_shndx] + symbol.st_value);
  }

  void apply_relocations(const Elf64_Shdr& table) {
    reader_.check(table.sh_info < sections_.size(), "relocations of no section");
    const Elf64_Shdr& target = sections_[table.sh_info];
    if (!offsets_[table.sh_info]) return;
    for (const auto& relocation : reader_.table<Elf64_Rela>(table.sh_offset, table.sh_size, "relocations")) {
      const uint64_t index = ELF64_R_SYM(relocation.r_info);
      reader_.check(index < symbols_.size(), "a relocation of no symbol");
      const size_t width = width_of(ELF64_R_TYPE(relocation.r_info), symbols_[index]);
      reader_.check(relocation.r_offset <= target.sh_size && width <= target.sh_size - relocation.r_offset,
                    "a relocation leaves its section");
      const size_t place = *offsets_[table.sh_info] + relocation.r_offset;
      int64_t value = 0;
      reader_.check(!__builtin_add_overflow(resolve(symbols_[index]), relocation.r_addend, &value) &&
                        !__builtin_sub_overflow(value, static_cast<int64_t>(place), &value),
                    "a relocation overflows");
      reader_.check(width == 8 || value == static_cast<int32_t>(value), "a relocation does not fit 32 bits");
      std::memcpy(image_.bytes.data() + place, &value, width);  // little endian: the low bytes come first
    }
  }

  size_t width_of(uint64_t type, const Elf64_Sym& symbol) const {
    if (type == R_X86_64_PC32 || type == R_X86_64_PLT32) return 4;
    if (type == R_X86_64_PC64) return 8;
    const std::string name = reader_.name_at(symbol_names_, symbol.st_name);
    reader_.check(symbol.st_shndx != SHN_UNDEF, fmt::format("undefined symbol {}", name));
    reader_.check(false, fmt::format("relocation type {} against \"{}\"", type, name));
    return 0;
  }

  size_t entry_of(std::string_view wanted) const {
    std::optional<size_t> entry;
    for (const Elf64_Sym& symbol : symbols_) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      const std::string name = reader_.name_at(symbol_names_, symbol.st_name);
      reader_.check(name == wanted && !entry, fmt::format("unexpected function {}", name));
      entry = static_cast<size_t>(resolve(symbol));
      reader_.check((sections_[symbol.st_shndx].sh_flags & SHF_EXECINSTR) != 0, "the kernel is not code");
    }
    reader_.check(entry.has_value() && *entry < image_.bytes.size(), fmt::format("no function {}", wanted));
    return *entry;
  }

  ObjectReader reader_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view section_names_, symbol_names_;
  std::vector<std::optional<size_t>> offsets_;  // of a loaded section, in the image
  Image image_;
};

}  // namespace

Image flatten_object(std::string_view object, std::string_view symbol, std::string_view kernel_name) {
  return Flattener(object, kernel_name).run(symbol);
}

ExecutableMemory::ExecutableMemory(std::string_view bytes) : size_(bytes.size()) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = (std::max<size_t>(size_, 1) + page - 1) / page * page;
  base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FRIT_CHECK(base_ != MAP_FAILED, fmt::format("no memory for {} bytes of code: {}", mapped_, std::strerror(errno)));
  std::memcpy(base_, bytes.data(), size_);
  if (mprotect(base_, mapped_, PROT_READ | PROT_EXEC) != 0) {
    const int error = errno;
    munmap(base_, mapped_);
    throw UnsupportedError(Finding{.where = "cpu",
                                   .what = "this system refuses to make memory executable",
                                   .excerpt = {},
                                   .got = std::strerror(error),
                                   .expected = "mprotect to grant PROT_EXEC on private memory",
                                   .fix = "allow executable memory for this process",
                                   .from = {}});
  }
}

ExecutableMemory::~ExecutableMemory() { munmap(base_, mapped_); }

}  // namespace frit::runtime
