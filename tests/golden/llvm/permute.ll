; gather and scatter
define void @frit_kernel(ptr noalias readonly %buffers, ptr noalias readonly %dims, i64 %begin, i64 %end, ptr noalias align 64 %scratch) nounwind {
entry:
  %v0 = getelementptr i8, ptr %buffers, i64 8
  %v1 = load ptr, ptr %v0, align 8, !invariant.load !0
  %v2 = load ptr, ptr %buffers, align 8, !invariant.load !0
  %v3 = getelementptr i8, ptr %buffers, i64 16
  %v4 = load ptr, ptr %v3, align 8, !invariant.load !0
  %v5 = icmp slt i64 %begin, %end
  br i1 %v5, label %b0, label %b1
b0:
  %v6 = phi i64 [ %begin, %entry ], [ %v7, %b0 ]
  %v9 = mul i64 %v6, 16
  %v10 = getelementptr i8, ptr %v1, i64 %v9
  %v11 = load <4 x i32>, ptr %v10, align 4, !invariant.load !0
  %v12 = sext <4 x i32> %v11 to <4 x i64>
  %v13 = mul <4 x i64> %v12, splat (i64 4)
  %v14 = icmp sle <4 x i64> zeroinitializer, %v12
  %v15 = getelementptr i8, ptr %v2, <4 x i64> %v13
  %v16 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %v15, i32 4, <4 x i1> %v14, <4 x float> zeroinitializer)
  %v17 = getelementptr i8, ptr %v4, <4 x i64> %v13
  call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %v16, <4 x ptr> %v17, i32 4, <4 x i1> %v14)
  %v7 = add i64 %v6, 1
  %v8 = icmp slt i64 %v7, %end
  br i1 %v8, label %b0, label %b1
b1:
  ret void
}
declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x float>)
declare void @llvm.masked.scatter.v4f32.v4p0(<4 x float>, <4 x ptr>, i32, <4 x i1>)
!0 = !{}
