; sum[j](x[i, j])
define void @frit_kernel(ptr noalias readonly %buffers, ptr noalias readonly %dims, i64 %begin, i64 %end, ptr noalias align 64 %scratch) nounwind {
entry:
  %v0 = load i64, ptr %dims, align 8, !invariant.load !0
  %v1 = load ptr, ptr %buffers, align 8, !invariant.load !0
  %v2 = getelementptr i8, ptr %buffers, i64 8
  %v3 = load ptr, ptr %v2, align 8, !invariant.load !0
  %v4 = mul i64 %v0, 4
  %v5 = sdiv i64 %v0, 8
  %v6 = mul i64 %v5, 8
  %v7 = icmp slt i64 %begin, %end
  br i1 %v7, label %b0, label %b1
b0:
  %v8 = phi i64 [ %begin, %entry ], [ %v9, %b5 ]
  %v11 = mul i64 %v8, %v4
  %v12 = getelementptr i8, ptr %v1, i64 %v11
  %v13 = icmp slt i64 0, %v6
  br i1 %v13, label %b2, label %b3
b2:
  %v14 = phi i64 [ 0, %b0 ], [ %v17, %b2 ]
  %v15 = phi ptr [ %v12, %b0 ], [ %v21, %b2 ]
  %v16 = phi <8 x float> [ zeroinitializer, %b0 ], [ %v20, %b2 ]
  %v19 = load <8 x float>, ptr %v15, align 4, !invariant.load !0
  %v20 = fadd <8 x float> %v16, %v19
  %v21 = getelementptr i8, ptr %v15, i64 32
  %v17 = add i64 %v14, 8
  %v18 = icmp slt i64 %v17, %v6
  br i1 %v18, label %b2, label %b3
b3:
  %v22 = phi ptr [ %v12, %b0 ], [ %v21, %b2 ]
  %v23 = phi <8 x float> [ zeroinitializer, %b0 ], [ %v20, %b2 ]
  %v24 = shufflevector <8 x float> %v23, <8 x float> %v23, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v25 = shufflevector <8 x float> %v23, <8 x float> %v23, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v26 = fadd <4 x float> %v24, %v25
  %v27 = shufflevector <4 x float> %v26, <4 x float> %v26, <2 x i32> <i32 0, i32 1>
  %v28 = shufflevector <4 x float> %v26, <4 x float> %v26, <2 x i32> <i32 2, i32 3>
  %v29 = fadd <2 x float> %v27, %v28
  %v30 = extractelement <2 x float> %v29, i32 0
  %v31 = extractelement <2 x float> %v29, i32 1
  %v32 = fadd float %v30, %v31
  %v33 = icmp slt i64 %v6, %v0
  br i1 %v33, label %b4, label %b5
b4:
  %v34 = phi i64 [ %v6, %b3 ], [ %v37, %b4 ]
  %v35 = phi ptr [ %v22, %b3 ], [ %v41, %b4 ]
  %v36 = phi float [ %v32, %b3 ], [ %v40, %b4 ]
  %v39 = load float, ptr %v35, align 4, !invariant.load !0
  %v40 = fadd float %v36, %v39
  %v41 = getelementptr i8, ptr %v35, i64 4
  %v37 = add i64 %v34, 1
  %v38 = icmp slt i64 %v37, %v0
  br i1 %v38, label %b4, label %b5
b5:
  %v42 = phi float [ %v32, %b3 ], [ %v40, %b4 ]
  %v43 = mul i64 %v8, 4
  %v44 = getelementptr i8, ptr %v3, i64 %v43
  store float %v42, ptr %v44, align 4
  %v9 = add i64 %v8, 1
  %v10 = icmp slt i64 %v9, %end
  br i1 %v10, label %b0, label %b1
b1:
  ret void
}
!0 = !{}
