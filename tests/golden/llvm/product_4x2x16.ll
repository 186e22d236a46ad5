; dot(a, b)
define void @frit_kernel(ptr noalias readonly %buffers, ptr noalias readonly %dims, i64 %begin, i64 %end, ptr noalias align 64 %scratch) nounwind {
entry:
  %v0 = getelementptr i8, ptr %dims, i64 8
  %v1 = load i64, ptr %v0, align 8, !invariant.load !0
  %v2 = getelementptr i8, ptr %buffers, i64 8
  %v3 = load ptr, ptr %v2, align 8, !invariant.load !0
  %v4 = load ptr, ptr %buffers, align 8, !invariant.load !0
  %v5 = load i64, ptr %dims, align 8, !invariant.load !0
  %v6 = getelementptr i8, ptr %buffers, i64 16
  %v7 = load ptr, ptr %v6, align 8, !invariant.load !0
  %v8 = getelementptr i8, ptr %dims, i64 16
  %v9 = load i64, ptr %v8, align 8, !invariant.load !0
  %v10 = mul i64 %v1, 2
  %v11 = mul i64 %v1, 3
  %v12 = getelementptr i8, ptr %v4, i64 %v11
  br label %b0
b0:
  %v13 = phi i64 [ 0, %entry ], [ %v25, %b0 ]
  %v14 = phi ptr [ %v3, %entry ], [ %v30, %b0 ]
  %v15 = phi ptr [ %v4, %entry ], [ %v31, %b0 ]
  %v16 = phi ptr [ %v12, %entry ], [ %v32, %b0 ]
  %v17 = phi <16 x float> [ zeroinitializer, %entry ], [ %v36, %b0 ]
  %v18 = phi <16 x float> [ zeroinitializer, %entry ], [ %v37, %b0 ]
  %v19 = phi <16 x float> [ zeroinitializer, %entry ], [ %v42, %b0 ]
  %v20 = phi <16 x float> [ zeroinitializer, %entry ], [ %v43, %b0 ]
  %v21 = phi <16 x float> [ zeroinitializer, %entry ], [ %v48, %b0 ]
  %v22 = phi <16 x float> [ zeroinitializer, %entry ], [ %v49, %b0 ]
  %v23 = phi <16 x float> [ zeroinitializer, %entry ], [ %v53, %b0 ]
  %v24 = phi <16 x float> [ zeroinitializer, %entry ], [ %v54, %b0 ]
  %v27 = load <16 x float>, ptr %v14, align 64, !invariant.load !0
  %v28 = getelementptr i8, ptr %v14, i64 64
  %v29 = load <16 x float>, ptr %v28, align 64, !invariant.load !0
  %v30 = getelementptr i8, ptr %v14, i64 128
  %v31 = getelementptr i8, ptr %v15, i64 4
  %v32 = getelementptr i8, ptr %v16, i64 4
  %v33 = load float, ptr %v15, align 4, !invariant.load !0
  %v34 = insertelement <16 x float> poison, float %v33, i32 0
  %v35 = shufflevector <16 x float> %v34, <16 x float> poison, <16 x i32> zeroinitializer
  %v36 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v35, <16 x float> %v27, <16 x float> %v17)
  %v37 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v35, <16 x float> %v29, <16 x float> %v18)
  %v38 = getelementptr i8, ptr %v15, i64 %v1
  %v39 = load float, ptr %v38, align 4, !invariant.load !0
  %v40 = insertelement <16 x float> poison, float %v39, i32 0
  %v41 = shufflevector <16 x float> %v40, <16 x float> poison, <16 x i32> zeroinitializer
  %v42 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v41, <16 x float> %v27, <16 x float> %v19)
  %v43 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v41, <16 x float> %v29, <16 x float> %v20)
  %v44 = getelementptr i8, ptr %v15, i64 %v10
  %v45 = load float, ptr %v44, align 4, !invariant.load !0
  %v46 = insertelement <16 x float> poison, float %v45, i32 0
  %v47 = shufflevector <16 x float> %v46, <16 x float> poison, <16 x i32> zeroinitializer
  %v48 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v47, <16 x float> %v27, <16 x float> %v21)
  %v49 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v47, <16 x float> %v29, <16 x float> %v22)
  %v50 = load float, ptr %v16, align 4, !invariant.load !0
  %v51 = insertelement <16 x float> poison, float %v50, i32 0
  %v52 = shufflevector <16 x float> %v51, <16 x float> poison, <16 x i32> zeroinitializer
  %v53 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v52, <16 x float> %v27, <16 x float> %v23)
  %v54 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v52, <16 x float> %v29, <16 x float> %v24)
  %v25 = add i64 %v13, 1
  %v26 = icmp slt i64 %v25, %v5
  br i1 %v26, label %b0, label %b1
b1:
  store <16 x float> %v36, ptr %v7, align 64
  %v55 = getelementptr i8, ptr %v7, i64 64
  store <16 x float> %v37, ptr %v55, align 64
  %v56 = getelementptr i8, ptr %v7, i64 %v9
  store <16 x float> %v42, ptr %v56, align 64
  %v57 = getelementptr i8, ptr %v56, i64 64
  store <16 x float> %v43, ptr %v57, align 64
  %v58 = getelementptr i8, ptr %v56, i64 %v9
  store <16 x float> %v48, ptr %v58, align 64
  %v59 = getelementptr i8, ptr %v58, i64 64
  store <16 x float> %v49, ptr %v59, align 64
  %v60 = getelementptr i8, ptr %v58, i64 %v9
  store <16 x float> %v53, ptr %v60, align 64
  %v61 = getelementptr i8, ptr %v60, i64 64
  store <16 x float> %v54, ptr %v61, align 64
  ret void
}
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
!0 = !{}
