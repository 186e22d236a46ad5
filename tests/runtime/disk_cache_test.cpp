#include "runtime/disk_cache.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "runtime_fixture.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr uint64_t kLimit = uint64_t{64} << 20;

Digest key_number(uint64_t n) { return digest_of(fmt::format("key {}", n)); }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(DiskCache, StoresByKindAndKey) {
  const TemporaryFolder folder;
  DiskCache cache({folder / "c", kLimit});
  ASSERT_TRUE(cache.is_usable()) << cache.reason();
  const std::string bytes("with\0zeros\n", 11);
  EXPECT_FALSE(cache.get("plan", key_number(1)));
  EXPECT_TRUE(cache.put("plan", key_number(1), bytes));
  EXPECT_TRUE(cache.put("plan", key_number(2), ""));
  EXPECT_EQ(cache.get("plan", key_number(1)), bytes);
  EXPECT_EQ(cache.get("plan", key_number(2)), "");
  EXPECT_FALSE(cache.get("tuning", key_number(1)));
  DiskCache again({folder / "c", kLimit});
  EXPECT_EQ(again.get("plan", key_number(1)), bytes);
  EXPECT_EQ(again.list().size(), 2);
  again.remove("plan", key_number(1));
  EXPECT_FALSE(again.get("plan", key_number(1)));
  again.clear();
  EXPECT_EQ(again.list().size(), 0);
}

TEST(DiskCache, DamagedEntriesAreMissesAndReplaced) {  // B124
  const TemporaryFolder folder;
  DiskCache cache({folder.path(), kLimit});
  const std::string bytes(1000, 'x');
  ASSERT_TRUE(cache.put("object", key_number(1), bytes));
  ASSERT_TRUE(cache.put("object", key_number(2), std::string(1000, 'y')));
  const std::string one = folder / ("object/" + key_number(1).hex()), two = folder / ("object/" + key_number(2).hex());
  const std::string good = read_file(one);
  const auto expect_miss_then_repaired = [&](const std::string& what) {
    EXPECT_FALSE(cache.get("object", key_number(1))) << what;
    EXPECT_TRUE(cache.put("object", key_number(1), bytes)) << what;
    EXPECT_EQ(cache.get("object", key_number(1)), bytes) << what;
  };
  for (const size_t size : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 1}) {
    write_file(one, good.substr(0, size));
    expect_miss_then_repaired(fmt::format("cut to {}", size));
  }
  write_file(one, good + "z");
  expect_miss_then_repaired("one byte more");
  std::mt19937 random(1);
  for (int round = 0; round < 64; ++round) {
    std::string bad = good;
    const size_t bit = random() % (bad.size() * 8);
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    write_file(one, bad);
    expect_miss_then_repaired(fmt::format("bit {}", bit));
  }
  for (size_t bit = 0; bit < 64 * 8; ++bit) {  // every bit of the head
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    write_file(one, bad);
    expect_miss_then_repaired(fmt::format("head bit {}", bit));
  }
  write_file(one, read_file(two));
  expect_miss_then_repaired("another entry");
  mkdir((folder / "plan").c_str(), 0700);
  write_file(folder / ("plan/" + key_number(1).hex()), good);
  EXPECT_FALSE(cache.get("plan", key_number(1))) << "another kind";
}

TEST(DiskCache, EntriesThatOthersMayWriteAreMisses) {
  const TemporaryFolder folder;
  DiskCache cache({folder.path(), kLimit});
  ASSERT_TRUE(cache.put("object", key_number(1), "bytes"));
  const std::string path = folder / ("object/" + key_number(1).hex());
  chmod(path.c_str(), 0666);
  EXPECT_FALSE(cache.get("object", key_number(1)));
  std::filesystem::rename(path, folder / "elsewhere");
  std::filesystem::create_symlink(folder / "elsewhere", path);
  EXPECT_FALSE(cache.get("object", key_number(1)));
}

TEST(DiskCache, FoldersThatOthersMayChangeAreNotUsed) {  // B130
  const TemporaryFolder folder;
  for (const mode_t mode : {0777, 0770, 0722, 01777}) {
    const std::string path = folder / fmt::format("m{:o}", mode);
    mkdir(path.c_str(), 0700);
    chmod(path.c_str(), mode);
    DiskCache cache({path, kLimit});
    EXPECT_FALSE(cache.is_usable());
    EXPECT_NE(cache.reason().find("others may write"), std::string::npos) << cache.reason();
    EXPECT_FALSE(cache.put("object", key_number(1), "x"));
  }
  mkdir((folder / "target").c_str(), 0700);
  std::filesystem::create_symlink(folder / "target", folder / "link");
  DiskCache linked({folder / "link/", kLimit});
  EXPECT_FALSE(linked.is_usable());
  EXPECT_NE(linked.reason().find("symbolic link"), std::string::npos) << linked.reason();
  if (geteuid() == 0) {
    mkdir((folder / "foreign").c_str(), 0700);
    ASSERT_EQ(chown((folder / "foreign").c_str(), 12345, 12345), 0);
    DiskCache foreign({folder / "foreign", kLimit});
    EXPECT_FALSE(foreign.is_usable());
  }
  DiskCache own({folder / "new/sub", kLimit});
  struct stat status = {};
  ASSERT_EQ(stat((folder / "new/sub").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700);
}

TEST(DiskCache, OddFolderNames) {  // B141, B142
  const TemporaryFolder folder;
  for (const char* name :
       {"a b", "a'b", "a\"b", "a;b", "\xc3\xa4", "a$(id)b", "x-g", "x -O0", "-DFOO", "a%sb", "*", "`id`"}) {
    DiskCache cache({folder / name, kLimit});
    EXPECT_TRUE(cache.put("object", key_number(1), name)) << name;
    EXPECT_EQ(DiskCache({folder / name, kLimit}).get("object", key_number(1)), name);
  }
  DiskCache cache({folder / std::string(300, 'n'), kLimit});  // longer than a file name may be
  EXPECT_FALSE(cache.is_usable());
  EXPECT_NE(cache.reason(), "");
}

TEST(DiskCache, FolderComesFromTheEnvironment) {  // B125
  const TemporaryFolder folder;
  const std::string missing = folder / "missing";
  const ScopedVariable limit("FRIT_CACHE_LIMIT", nullptr);
  const auto where = [](const char* own, const char* xdg, const char* home) {
    const ScopedVariable a("FRIT_CACHE_DIR", own), b("XDG_CACHE_HOME", xdg), c("HOME", home);
    return DiskCacheOptions::from_environment().folder;
  };
  EXPECT_EQ(where("/own", "/xdg", "/"), "/own");
  EXPECT_EQ(where(nullptr, "/xdg", "/"), "/xdg/frit");
  EXPECT_EQ(where(nullptr, "relative", folder.path().c_str()), folder / ".cache/frit");
  EXPECT_EQ(where(nullptr, nullptr, missing.c_str()), "");
  EXPECT_EQ(where(nullptr, nullptr, nullptr), "");
  EXPECT_EQ(where("", "", nullptr), "");
  EXPECT_TRUE(where("here", nullptr, nullptr).starts_with('/'));
}

TEST(DiskCache, UnusableFoldersCostOnlySpeed) {  // B125
  const TemporaryFolder folder;
  write_file(folder / "file", "x");
  for (const std::string& path : {std::string(), folder / "file", folder / "file/sub", std::string("/proc/frit")}) {
    DiskCache cache({path, kLimit});
    EXPECT_FALSE(cache.is_usable()) << path;
    EXPECT_NE(cache.reason(), "");
    EXPECT_FALSE(cache.put("object", key_number(1), "x"));
    EXPECT_FALSE(cache.get("object", key_number(1)));
    EXPECT_EQ(cache.keep_failed_text(key_number(1), "ll", "x"), "");
    cache.clear();
  }
}

TEST(DiskCache, FullDiskLeavesNothingBehind) {  // B125, B123
  const TemporaryFolder folder;
  DiskCache cache({folder.path(), kLimit});
  ASSERT_TRUE(cache.put("object", key_number(1), "x"));
  struct rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  const struct rlimit none = {1024, old.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &none);
  EXPECT_FALSE(cache.put("object", key_number(2), std::string(100'000, 'y')));
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(cache.counters().failed_writes, 1);
  EXPECT_EQ(cache.list().size(), 1);
  EXPECT_EQ(cache.get("object", key_number(1)), "x");
  std::filesystem::remove_all(folder.path());  // the folder vanishes under a running process
  EXPECT_FALSE(cache.put("object", key_number(3), "z"));
  EXPECT_FALSE(cache.get("object", key_number(1)));
}

TEST(DiskCache, LimitIsABoundNotAReservation) {  // B128
  const auto limit_of = [](const char* text) {
    const ScopedVariable limit("FRIT_CACHE_LIMIT", text);
    return DiskCacheOptions::from_environment().limit_bytes;
  };
  EXPECT_EQ(limit_of("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(limit_of("0"), 0);
  EXPECT_EQ(limit_of(nullptr), uint64_t{1} << 30);
  for (const char* text : {"-1", "many", "1G", "1 ", " 1", "18446744073709551616", "0x10", "1.5"}) {
    EXPECT_THROW(limit_of(text), InputError) << text;
  }
  const TemporaryFolder folder;
  DiskCache unbounded({folder / "a", UINT64_MAX}), none({folder / "b", 0});
  EXPECT_TRUE(unbounded.put("object", key_number(1), "x"));
  EXPECT_EQ(unbounded.get("object", key_number(1)), "x");
  EXPECT_FALSE(none.put("object", key_number(1), "x"));
  EXPECT_FALSE(std::filesystem::exists(folder / "b"));
}

TEST(DiskCache, StaysUnderItsLimit) {  // B127
  const TemporaryFolder folder;
  constexpr uint64_t limit = 1'000'000;
  const std::string bytes(4'000, 'x');
  {
    DiskCache cache({folder.path(), limit});
    ASSERT_TRUE(cache.put("object", key_number(0), bytes));
    for (uint64_t n = 1; n < 2000; ++n) {
      ASSERT_TRUE(cache.put(n % 3 == 0 ? "plan" : "object", key_number(n), bytes));
      EXPECT_TRUE(cache.get("object", key_number(0))) << "used all the time, after " << n;
    }
    EXPECT_GT(cache.counters().evicted, 1000);
    EXPECT_FALSE(cache.get("object", key_number(1)));
    EXPECT_TRUE(cache.get("object", key_number(1999)));
    EXPECT_FALSE(cache.put("object", key_number(3000), std::string(limit, 'x')));  // more than all room
  }
  uint64_t total = 0;
  for (const auto& entry : DiskCache({folder.path(), limit}).list()) total += entry.bytes;
  EXPECT_LE(total, limit);
  DiskCache smaller({folder.path(), limit / 4});  // a lowered limit holds from the next write on
  smaller.put("object", key_number(5000), bytes);
  total = 0;
  for (const auto& entry : smaller.list()) total += entry.bytes;
  EXPECT_LE(total, limit / 4);
}

TEST(DiskCache, ManyWritersOfTheSameEntries) {  // B123
  const TemporaryFolder folder;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      DiskCache cache({folder.path(), kLimit});  // as another process
      for (uint64_t n = 0; n < 100; ++n) {
        const std::string bytes(n * 10, static_cast<char>('a' + n % 26));
        const auto found = cache.get("object", key_number(n));
        EXPECT_TRUE(!found || *found == bytes);
        EXPECT_TRUE(cache.put("object", key_number(n), bytes));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(DiskCache({folder.path(), kLimit}).list().size(), 100);
}

TEST(DiskCache, PacksCarryAllKinds) {
  const TemporaryFolder folder;
  DiskCache from({folder / "from", kLimit});
  from.put("object", key_number(1), "code");
  from.put("plan", key_number(2), std::string(5000, '\0'));
  from.put("tuning", key_number(3), "");
  from.put("plan", key_number(4), "damaged below");
  from.keep_failed_text(key_number(5), "ll", "a refused text is no entry");
  write_file(folder / ("from/plan/" + key_number(4).hex()), "?");
  const std::string pack = from.export_pack();
  DiskCache to({folder / "to", kLimit});
  EXPECT_EQ(to.import_pack(pack), 3);
  EXPECT_EQ(to.get("object", key_number(1)), "code");
  EXPECT_EQ(to.get("plan", key_number(2)), std::string(5000, '\0'));
  EXPECT_EQ(to.get("tuning", key_number(3)), "");
  EXPECT_EQ(to.list().size(), 3);
  DiskCache other({folder / "other", kLimit});
  std::mt19937 random(5);
  for (size_t cut = 0; cut < pack.size(); cut += 1 + pack.size() / 200) {
    try {
      EXPECT_LT(other.import_pack(std::string_view(pack).substr(0, cut)), 3);  // cut between two entries
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("pack"), std::string::npos);
    }
    std::string bad = pack;
    bad[cut] = static_cast<char>(bad[cut] ^ (1 << random() % 8));
    EXPECT_THROW(other.import_pack(bad), InputError) << cut;
  }
  EXPECT_THROW(other.import_pack(""), InputError);
  EXPECT_THROW(other.import_pack("FRITPACK1\n\xff\xff\xff\xff\xff\xff\xff\xff"), InputError);
}

}  // namespace
}  // namespace frit::runtime
