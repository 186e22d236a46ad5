// scale(x) = x * 2 + 1
#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void frit_kernel(__global uchar* restrict b0, __global uchar* restrict b1, __global const long* dims, long first, long last, __global uchar* scratches, long scratch_bytes) {
  const long items = (long)get_global_size(0), item = (long)get_global_id(0), count = last - first;
  const long begin = first + count * item / items, end = first + count * (item + 1) / items;
  const long v0 = (long)((ulong)end - (ulong)begin);
  const long v1 = (long)(v0 / 8l);
  const long v2 = (long)((ulong)v1 * (ulong)8l);
  const long v3 = (long)((ulong)begin + (ulong)v2);
  for (long v4 = begin; v4 < v3; v4 += 8l) {
    const long v5 = (long)((ulong)v4 * (ulong)4l);
    __global uchar* v6 = b0 + v5;
    __global uchar* v7 = b1 + v5;
    const float8 v8 = vload8(0, (__global float*)(v6));
    const float8 v9 = fma(v8, (float8)(0x1p+1f), (float8)(0x1p+0f));
    vstore8(v9, 0, (__global float*)(v7));
  }
  const int v10 = v3 < end;
  if (v10) {
    const long v11 = (long)((ulong)end - (ulong)v3);
    const long8 v12 = (long8)(v11);
    const char8 v13 = convert_char8((long8)(0, 1, 2, 3, 4, 5, 6, 7) < v12);
    const long v14 = (long)((ulong)v3 * (ulong)4l);
    __global uchar* v15 = b0 + v14;
    __global uchar* v16 = b1 + v14;
    float8 v17 = (float8)(0x0p+0f);
    if (v13.s0) v17.s0 = *(__global float*)(v15 + 0);
    if (v13.s1) v17.s1 = *(__global float*)(v15 + 4);
    if (v13.s2) v17.s2 = *(__global float*)(v15 + 8);
    if (v13.s3) v17.s3 = *(__global float*)(v15 + 12);
    if (v13.s4) v17.s4 = *(__global float*)(v15 + 16);
    if (v13.s5) v17.s5 = *(__global float*)(v15 + 20);
    if (v13.s6) v17.s6 = *(__global float*)(v15 + 24);
    if (v13.s7) v17.s7 = *(__global float*)(v15 + 28);
    const float8 v18 = fma(v17, (float8)(0x1p+1f), (float8)(0x1p+0f));
    if (v13.s0) *(__global float*)(v16 + 0) = v18.s0;
    if (v13.s1) *(__global float*)(v16 + 4) = v18.s1;
    if (v13.s2) *(__global float*)(v16 + 8) = v18.s2;
    if (v13.s3) *(__global float*)(v16 + 12) = v18.s3;
    if (v13.s4) *(__global float*)(v16 + 16) = v18.s4;
    if (v13.s5) *(__global float*)(v16 + 20) = v18.s5;
    if (v13.s6) *(__global float*)(v16 + 24) = v18.s6;
    if (v13.s7) *(__global float*)(v16 + 28) = v18.s7;
  }
}
