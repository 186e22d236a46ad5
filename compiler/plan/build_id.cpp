#include "compiler/plan/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace frit {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

void read_notes(const char* notes, size_t size, std::string& id) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes, sizeof head);
    const size_t name = (head.n_namesz + 3u) / 4 * 4, description = (head.n_descsz + 3u) / 4 * 4;
    if (size < sizeof head + name + description) return;
    if (head.n_type == NT_GNU_BUILD_ID) id.assign(notes + sizeof head + name, head.n_descsz);
    notes += sizeof head + name + description;
    size -= sizeof head + name + description;
  }
}

int visit(dl_phdr_info* info, size_t, void* context) {
  Search& search = *static_cast<Search*>(context);
  bool is_ours = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    is_ours = is_ours || (part.p_type == PT_LOAD && search.address >= begin && search.address < begin + part.p_memsz);
  }
  if (!is_ours) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_NOTE)
      read_notes(reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr), part.p_memsz, search.id);
  }
  return 1;
}

}  // namespace

const std::string& build_id() {
  static const std::string id = [] {
    Search search{reinterpret_cast<uintptr_t>(&visit), {}};
    dl_iterate_phdr(visit, &search);
    return search.id;
  }();
  return id;
}

}  // namespace frit
