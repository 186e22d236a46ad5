#include "codegen/c/c.h"
#include "codegen/c/dialect.h"
#include "codegen/c/print.h"

namespace frit {
namespace c_text {

// Halves go through memory, since vload_half needs no extension and values of type half do.
const Dialect kOpenCl = {
    .name = "opencl",
    .preamble = "#pragma OPENCL FP_CONTRACT OFF\n",
    .preamble_f64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    .preamble_f16 =
        "#define FRIT_HALF(N) \\\n"
        "  float##N frit_from_half##N(ushort##N h) { return vload_half##N(0, (const half*)&h); } \\\n"
        "  ushort##N frit_to_half##N(float##N f) { ushort##N h; vstore_half##N##_rte(f, 0, (half*)&h); return h; }\n"
        "FRIT_HALF() FRIT_HALF(2) FRIT_HALF(4) FRIT_HALF(8) FRIT_HALF(16)\n",
    .kernel = "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void",
    .global = "__global ",
    .restricted = "restrict",
    .item = "(long)get_global_id(0)",
    .items = "(long)get_global_size(0)",
    .types = {"int", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong", "ushort", "ushort", "float",
              "double"},
};

}  // namespace c_text

std::string print_opencl(const kernel::Kernel& kernel) { return c_text::print(kernel, c_text::kOpenCl); }

}  // namespace frit
