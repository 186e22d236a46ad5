; scale(x) = x * 2 + 1
define void @frit_kernel(ptr noalias readonly %buffers, ptr noalias readonly %dims, i64 %begin, i64 %end, ptr noalias align 64 %scratch) nounwind {
entry:
  %v0 = load ptr, ptr %buffers, align 8, !invariant.load !0
  %v1 = getelementptr i8, ptr %buffers, i64 8
  %v2 = load ptr, ptr %v1, align 8, !invariant.load !0
  %v3 = sub i64 %end, %begin
  %v4 = sdiv i64 %v3, 8
  %v5 = mul i64 %v4, 8
  %v6 = add i64 %begin, %v5
  %v7 = icmp slt i64 %begin, %v6
  br i1 %v7, label %b0, label %b1
b0:
  %v8 = phi i64 [ %begin, %entry ], [ %v9, %b0 ]
  %v11 = mul i64 %v8, 4
  %v12 = getelementptr i8, ptr %v0, i64 %v11
  %v13 = getelementptr i8, ptr %v2, i64 %v11
  %v14 = load <8 x float>, ptr %v12, align 4, !invariant.load !0
  %v15 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v14, <8 x float> splat (float 0x4000000000000000), <8 x float> splat (float 0x3FF0000000000000))
  store <8 x float> %v15, ptr %v13, align 4
  %v9 = add i64 %v8, 8
  %v10 = icmp slt i64 %v9, %v6
  br i1 %v10, label %b0, label %b1
b1:
  %v16 = icmp slt i64 %v6, %end
  br i1 %v16, label %b2, label %b3
b2:
  %v17 = sub i64 %end, %v6
  %v18 = insertelement <8 x i64> poison, i64 %v17, i32 0
  %v19 = shufflevector <8 x i64> %v18, <8 x i64> poison, <8 x i32> zeroinitializer
  %v20 = icmp slt <8 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>, %v19
  %v21 = mul i64 %v6, 4
  %v22 = getelementptr i8, ptr %v0, i64 %v21
  %v23 = getelementptr i8, ptr %v2, i64 %v21
  %v24 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v22, i32 4, <8 x i1> %v20, <8 x float> zeroinitializer)
  %v25 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v24, <8 x float> splat (float 0x4000000000000000), <8 x float> splat (float 0x3FF0000000000000))
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v25, ptr %v23, i32 4, <8 x i1> %v20)
  br label %b3
b3:
  ret void
}
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
!0 = !{}
