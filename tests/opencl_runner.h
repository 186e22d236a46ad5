#pragma once
#include <memory>

#include "codegen/c/c.h"
#include "codegen/kernel_runner.h"

#ifdef FRIT_TEST_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

namespace frit::testing {

#ifdef FRIT_TEST_OPENCL

/// Prints OpenCL C, builds it and runs it on one device; for tests only.
class OpenClRunner final : public KernelRunner {
 public:
  explicit OpenClRunner(cl_device_id device) : device_(device) {
    cl_int error = 0;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &error);
    queue_ = clCreateCommandQueue(context_, device_, 0, &error);
  }
  ~OpenClRunner() override {
    clReleaseCommandQueue(queue_);
    clReleaseContext(context_);
  }
  bool has_fma() const override { return true; }
  bool has_rounding() const override { return true; }
  bool has_half_casts() const override { return true; }
  bool is_slow() const override { return true; }

  void run(const kernel::Kernel& kernel, const std::vector<Bytes>& buffers, const std::vector<int64_t>& dims,
           int64_t begin, int64_t end, size_t scratch_bytes, int shares) override {
    const std::string text = print_opencl(kernel);
    const Program program(*this, text);
    if (!program.kernel) return;
    std::vector<cl_mem> memory;
    const auto make = [&](const void* data, size_t bytes) {
      cl_int error = 0;
      const auto flags = CL_MEM_READ_WRITE | (data && bytes ? CL_MEM_COPY_HOST_PTR : 0);
      memory.push_back(clCreateBuffer(context_, static_cast<cl_mem_flags>(flags), bytes ? bytes : 64,
                                      bytes ? const_cast<void*>(data) : nullptr, &error));
      expect(error, "clCreateBuffer", text);
    };
    for (const Bytes& b : buffers) make(b.data(), b.size());
    make(dims.data(), dims.size() * 8);
    const cl_long stride = static_cast<cl_long>((scratch_bytes + 63) / 64 * 64);
    make(nullptr, static_cast<size_t>(stride) * static_cast<size_t>(shares));
    const cl_uint n = static_cast<cl_uint>(buffers.size());
    const cl_long first = begin, last = end;
    for (cl_uint k = 0; k <= n; ++k) clSetKernelArg(program.kernel, k, sizeof(cl_mem), &memory[k]);
    clSetKernelArg(program.kernel, n + 1, 8, &first);
    clSetKernelArg(program.kernel, n + 2, 8, &last);
    clSetKernelArg(program.kernel, n + 3, sizeof(cl_mem), &memory[n + 1]);
    clSetKernelArg(program.kernel, n + 4, 8, &stride);
    const size_t global = static_cast<size_t>(shares), local = 1;
    expect(clEnqueueNDRangeKernel(queue_, program.kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr), "launch",
           text);
    for (cl_uint k = 0; k < n; ++k)
      if (kernel.buffers[k].written)
        expect(clEnqueueReadBuffer(queue_, memory[k], CL_TRUE, 0, buffers[k].size(), buffers[k].data(), 0, nullptr,
                                   nullptr),
               "read", text);
    clFinish(queue_);
    for (const cl_mem m : memory) clReleaseMemObject(m);
  }

 private:
  static void expect(cl_int error, const char* what, const std::string& text) {
    EXPECT_EQ(error, CL_SUCCESS) << what << "\n" << text;
  }

  struct Program {
    Program(const OpenClRunner& r, const std::string& text) {
      const char* source = text.c_str();
      cl_int error = 0;
      program = clCreateProgramWithSource(r.context_, 1, &source, nullptr, &error);
      const cl_int built = clBuildProgram(program, 1, &r.device_, "-cl-std=CL1.2", nullptr, nullptr);
      std::string log(16384, '\0');
      clGetProgramBuildInfo(program, r.device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
      EXPECT_EQ(built, CL_SUCCESS) << log.c_str() << "\n" << text;
      if (built == CL_SUCCESS) kernel = clCreateKernel(program, "frit_kernel", &error);
    }
    ~Program() {
      if (kernel) clReleaseKernel(kernel);
      clReleaseProgram(program);
    }
    cl_program program = nullptr;
    cl_kernel kernel = nullptr;
  };

  cl_device_id device_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
};

/// A runner on the first OpenCL device; null where there is none.
inline std::unique_ptr<KernelRunner> make_opencl_runner() {
  cl_platform_id platform = nullptr;
  cl_uint count = 0;
  if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0) return nullptr;
  cl_device_id device = nullptr;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, &count) != CL_SUCCESS || count == 0) return nullptr;
  return std::make_unique<OpenClRunner>(device);
}

#else

inline std::unique_ptr<KernelRunner> make_opencl_runner() { return nullptr; }

#endif

}  // namespace frit::testing
