#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "ir/array.h"

namespace frit {

/// Decodes the bytes of an .npy file (versions 1 to 3). Nothing in them is trusted. Big-endian data and Fortran order
/// are converted; bf16 is what numpy calls V2. name    for messages errors  InputError: no npy, a damaged header, more
/// or fewer bytes than the shape says.
///         UnsupportedError: a dtype that Frit has not (complex, strings, objects)
/// source  numpy.lib.format
Array decode_npy(std::string_view bytes, const std::string& name);
std::string encode_npy(const Array& array);

/// errors  InputError: missing or unreadable; as decode_npy
Array read_npy(const std::filesystem::path& path);
/// Writes under a temporary name and renames, so that no part of a file is ever seen.
/// errors  InputError: the folder is missing or not writable
void write_npy(const std::filesystem::path& path, const Array& array);

/// The whole of a plain file.
/// errors  InputError: missing, a folder or device, unreadable
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace frit
