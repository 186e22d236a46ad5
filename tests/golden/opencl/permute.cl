// gather and scatter
#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void frit_kernel(__global uchar* restrict b0, __global uchar* restrict b1, __global uchar* restrict b2, __global const long* dims, long first, long last, __global uchar* scratches, long scratch_bytes) {
  const long items = (long)get_global_size(0), item = (long)get_global_id(0), count = last - first;
  const long begin = first + count * item / items, end = first + count * (item + 1) / items;
  for (long v0 = begin; v0 < end; v0 += 1l) {
    const long v1 = (long)((ulong)v0 * (ulong)16l);
    __global uchar* v2 = b1 + v1;
    const int4 v3 = vload4(0, (__global int*)(v2));
    const long4 v4 = convert_long4(v3);
    const long4 v5 = as_long4(as_ulong4(v4) * as_ulong4((long4)(4l)));
    const char4 v6 = convert_char4((long4)(0l) <= v4);
    float4 v7 = (float4)(0x0p+0f);
    if (v6.s0) v7.s0 = *(__global float*)(b0 + v5.s0);
    if (v6.s1) v7.s1 = *(__global float*)(b0 + v5.s1);
    if (v6.s2) v7.s2 = *(__global float*)(b0 + v5.s2);
    if (v6.s3) v7.s3 = *(__global float*)(b0 + v5.s3);
    if (v6.s0) *(__global float*)(b2 + v5.s0) = v7.s0;
    if (v6.s1) *(__global float*)(b2 + v5.s1) = v7.s1;
    if (v6.s2) *(__global float*)(b2 + v5.s2) = v7.s2;
    if (v6.s3) *(__global float*)(b2 + v5.s3) = v7.s3;
  }
}
