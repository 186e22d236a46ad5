// sum[j](x[i, j])
#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void frit_kernel(__global uchar* restrict b0, __global uchar* restrict b1, __global const long* dims, long first, long last, __global uchar* scratches, long scratch_bytes) {
  const long items = (long)get_global_size(0), item = (long)get_global_id(0), count = last - first;
  const long begin = first + count * item / items, end = first + count * (item + 1) / items;
  const long v0 = (long)((ulong)dims[0] * (ulong)4l);
  const long v1 = (long)(dims[0] / 8l);
  const long v2 = (long)((ulong)v1 * (ulong)8l);
  for (long v3 = begin; v3 < end; v3 += 1l) {
    const long v4 = (long)((ulong)v3 * (ulong)v0);
    __global uchar* v5 = b0 + v4;
    __global uchar* v6 = v5;
    float8 v7 = (float8)(0x0p+0f);
    for (long v8 = 0l; v8 < v2; v8 += 8l) {
      const float8 v9 = vload8(0, (__global float*)(v6));
      const float8 v10 = v7 + v9;
      __global uchar* v11 = v6 + 32l;
      v6 = v11;
      v7 = v10;
    }
    const float4 v12 = (float4)(v7.s0, v7.s1, v7.s2, v7.s3);
    const float4 v13 = (float4)(v7.s4, v7.s5, v7.s6, v7.s7);
    const float4 v14 = v12 + v13;
    const float2 v15 = (float2)(v14.s0, v14.s1);
    const float2 v16 = (float2)(v14.s2, v14.s3);
    const float2 v17 = v15 + v16;
    const float v18 = v17.s0;
    const float v19 = v17.s1;
    const float v20 = v18 + v19;
    __global uchar* v21 = v6;
    float v22 = v20;
    for (long v23 = v2; v23 < dims[0]; v23 += 1l) {
      const float v24 = *(__global float*)(v21);
      const float v25 = v22 + v24;
      __global uchar* v26 = v21 + 4l;
      v21 = v26;
      v22 = v25;
    }
    const long v27 = (long)((ulong)v3 * (ulong)4l);
    __global uchar* v28 = b1 + v27;
    *(__global float*)(v28) = v22;
  }
}
