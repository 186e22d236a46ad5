#include "compiler/front/npy.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/error.h"

namespace frit {
namespace {

std::string with_header(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

TEST(npy, keeps_every_dtype_and_shape) {
  for (const DType dtype : {DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                            DType::U32, DType::U64, DType::F16, DType::BF16, DType::F32, DType::F64}) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{}, {0}, {1}, {7}, {2, 0, 3}, {3, 4}}) {
      Array array(dtype, shape);
      for (int64_t i = 0; i < array.size(); ++i) array.set_int(i, dtype == DType::Bool ? i & 1 : i + 1);
      const Array back = decode_npy(encode_npy(array), "x.npy");
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.shape(), shape);
      EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(back.data()), back.size_bytes()),
                std::string_view(reinterpret_cast<const char*>(array.data()), array.size_bytes()));
      EXPECT_EQ((encode_npy(array).size() - array.size_bytes()) % 64, 0u);
    }
  }
}

TEST(npy, converts_order_and_endianness) {
  const std::string shape = "'shape': (2, 3), }";
  const Array fortran = decode_npy(
      with_header("{'descr': '|u1', 'fortran_order': True, " + shape, std::string("\1\4\2\5\3\6", 6)), "x.npy");
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(fortran.int_at(i), i + 1);
  const Array big = decode_npy(
      with_header("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", std::string("\0\1\1\0", 4), 2), "x.npy");
  EXPECT_EQ(big.int_at(0), 1);
  EXPECT_EQ(big.int_at(1), 256);
}

TEST(npy, refuses_what_is_damaged) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const std::vector<std::string> rows = {
      "",
      "PK\3\4 no numpy at all",
      with_header(good, std::string(7, 'x')),
      with_header(good, std::string(12, 'x')),
      with_header(good, std::string(8, 'x'), 9),
      with_header(good, "").substr(0, 20),
      with_header("{'descr': '<f4', 'shape': (2,)}", std::string(8, 'x')),
      with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", ""),
      with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""),
      with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }", std::string(8, 'x')),
      with_header("{'descr': '<f4', 'fortran_order': __import__('os'), 'shape': (2,), }", std::string(8, 'x')),
      with_header("{'descr': '<f4", std::string(8, 'x')),
  };
  for (const std::string& row : rows) EXPECT_THROW(decode_npy(row, "x.npy"), InputError) << row;
  for (const char* descr : {"<c8", "|O", "<U4", "<f16", "f4", ""}) {
    const std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (1,), }";
    EXPECT_THROW(decode_npy(with_header(header, std::string(8, 'x')), "x.npy"), UnsupportedError) << descr;
  }
}

TEST(npy, leaves_no_part_of_a_file) {
  const auto folder = std::filesystem::temp_directory_path() / ("frit_npy_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  write_npy(folder / "a.npy", Array(DType::F32, {3}));
  EXPECT_EQ(read_npy(folder / "a.npy").shape(), std::vector<int64_t>{3});
  EXPECT_THROW(write_npy(folder / "missing" / "a.npy", Array(DType::F32, {3})), InputError);
  EXPECT_THROW(read_npy(folder), InputError);
  EXPECT_THROW(read_npy(folder / "missing.npy"), InputError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace frit
