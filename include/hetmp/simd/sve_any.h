/* Part of hetmp/simd.h: SVE at the length that the machine has, which the compiler does not know. All operations are
 * here: vectors without a size are no vectors in gcc's sense, so the common texts do not serve them. What each computes
 * is said there. Not for direct inclusion. */

/* X(type, lane's C type, bits a lane, suffix of Arm's names, the unsigned and the signed type of that width). */
#define HETMP_YSIGNED(X) \
    X(VI8, int8_t, 8, s8, VU8, VI8) X(VI16, int16_t, 16, s16, VU16, VI16) X(VI32, int32_t, 32, s32, VU32, VI32) \
    X(VI64, int64_t, 64, s64, VU64, VI64)
#define HETMP_YUNSIGNED(X) \
    X(VU8, uint8_t, 8, u8, VU8, VI8) X(VU16, uint16_t, 16, u16, VU16, VI16) X(VU32, uint32_t, 32, u32, VU32, VI32) \
    X(VU64, uint64_t, 64, u64, VU64, VI64)
#define HETMP_YFLOATS(X) X(VF32, float, 32, f32, VU32, VI32) X(VF64, double, 64, f64, VU64, VI64)
#define HETMP_YINTS(X) HETMP_YSIGNED(X) HETMP_YUNSIGNED(X)
#define HETMP_YALL(X) HETMP_YINTS(X) HETMP_YFLOATS(X)

typedef svfloat32_t _VF32, __VF32;
typedef svfloat64_t _VF64, __VF64;
typedef svint8_t _VI8, __VI8;
typedef svint16_t _VI16, __VI16;
typedef svint32_t _VI32, __VI32;
typedef svint64_t _VI64, __VI64;
typedef svuint8_t _VU8, __VU8;
typedef svuint16_t _VU16, __VU16;
typedef svuint32_t _VU32, __VU32;
typedef svuint64_t _VU64, __VU64;
typedef svbool_t _VM8, _VM16, _VM32, _VM64;

#define HETMP_YN(W) HETMP_SIMD_LANES_##W
#define HETMP_YG(W) svptrue_b##W()
#define HETMP_YMOST (2048 / 8) /* bytes of the longest vector */
#define HETMP_YFIRST(W, n) svwhilelt_b##W##_u64(0, (uint64_t)(n))
#define HETMP_YLANE(W) svindex_u##W(0, 1)
#define HETMP_Y1(T, op, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { return name##_x(HETMP_YG(W), a); }
#define HETMP_Y2(T, op, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { return name##_x(HETMP_YG(W), a, b); }
/* c is the first operand of what Arm fuses. */
#define HETMP_Y3(T, op, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b, _##T c) { return name##_x(HETMP_YG(W), c, a, b); }

/* The same bits as another type. */
#define HETMP_YAS(A, a, B, b) \
    HETMP_SIMD_FN _##B _##A##_AS_##B(_##A v) { return svreinterpret_##b##_##a(v); }
#define HETMP_YAS_8(A, a) HETMP_YAS(A, a, VI8, s8) HETMP_YAS(A, a, VU8, u8)
#define HETMP_YAS_16(A, a) HETMP_YAS(A, a, VI16, s16) HETMP_YAS(A, a, VU16, u16)
#define HETMP_YAS_32(A, a) HETMP_YAS(A, a, VI32, s32) HETMP_YAS(A, a, VU32, u32)
#define HETMP_YAS_64(A, a) HETMP_YAS(A, a, VI64, s64) HETMP_YAS(A, a, VU64, u64)
#define HETMP_YAS_F(A, a) HETMP_YAS(A, a, VF32, f32) HETMP_YAS(A, a, VF64, f64)
#define HETMP_YAS_BUT8(A, a) HETMP_YAS_16(A, a) HETMP_YAS_32(A, a) HETMP_YAS_64(A, a) HETMP_YAS_F(A, a)
#define HETMP_YAS_BUT16(A, a) HETMP_YAS_8(A, a) HETMP_YAS_32(A, a) HETMP_YAS_64(A, a) HETMP_YAS_F(A, a)
#define HETMP_YAS_BUT32(A, a) HETMP_YAS_8(A, a) HETMP_YAS_16(A, a) HETMP_YAS_64(A, a) HETMP_YAS_F(A, a)
#define HETMP_YAS_BUT64(A, a) HETMP_YAS_8(A, a) HETMP_YAS_16(A, a) HETMP_YAS_32(A, a) HETMP_YAS_F(A, a)
#define HETMP_YAS_INTS(A, a) HETMP_YAS_8(A, a) HETMP_YAS_16(A, a) HETMP_YAS_32(A, a) HETMP_YAS_64(A, a)
HETMP_YAS(VI8, s8, VU8, u8) HETMP_YAS_BUT8(VI8, s8) HETMP_YAS(VU8, u8, VI8, s8) HETMP_YAS_BUT8(VU8, u8)
HETMP_YAS(VI16, s16, VU16, u16) HETMP_YAS_BUT16(VI16, s16) HETMP_YAS(VU16, u16, VI16, s16) HETMP_YAS_BUT16(VU16, u16)
HETMP_YAS(VI32, s32, VU32, u32) HETMP_YAS_BUT32(VI32, s32) HETMP_YAS(VU32, u32, VI32, s32) HETMP_YAS_BUT32(VU32, u32)
HETMP_YAS(VI64, s64, VU64, u64) HETMP_YAS_BUT64(VI64, s64) HETMP_YAS(VU64, u64, VI64, s64) HETMP_YAS_BUT64(VU64, u64)
HETMP_YAS(VF32, f32, VF64, f64) HETMP_YAS_INTS(VF32, f32) HETMP_YAS(VF64, f64, VF32, f32) HETMP_YAS_INTS(VF64, f64)
/* And as what it is. */
#define HETMP_YITSELF(T, L, W, t, U, S) \
    HETMP_SIMD_FN _##T hetmp_##T##_from_##U(_##U v) { return svreinterpret_##t##_u##W(v); } \
    HETMP_SIMD_FN _##U hetmp_##T##_to_##U(_##T v) { return svreinterpret_u##W##_##t(v); }
HETMP_YALL(HETMP_YITSELF)

/* Masks: of all lane widths one type of Arm's, of which only a lane's first bit counts. */
#define HETMP_YMASK(W) \
    HETMP_SIMD_FN _VM##W _VM##W##_TRUE(void) { return HETMP_YG(W); } \
    HETMP_SIMD_FN _VM##W _VM##W##_FALSE(void) { return svpfalse_b(); } \
    HETMP_SIMD_FN _VM##W _VM##W##_AND(_VM##W a, _VM##W b) { return svand_b_z(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _VM##W _VM##W##_OR(_VM##W a, _VM##W b) { return svorr_b_z(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _VM##W _VM##W##_XOR(_VM##W a, _VM##W b) { return sveor_b_z(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _VM##W _VM##W##_NOT(_VM##W a) { return svnot_b_z(HETMP_YG(W), a); } \
    HETMP_SIMD_FN _VM##W _VM##W##_ANDNOT(_VM##W a, _VM##W b) { return svbic_b_z(HETMP_YG(W), b, a); } \
    HETMP_SIMD_FN int _VM##W##_GET(_VM##W m, size_t i) { \
        return svptest_any(svcmpeq_n_u##W(HETMP_YG(W), HETMP_YLANE(W), (uint##W##_t)(i % (size_t)HETMP_YN(W))), m); \
    } \
    HETMP_SIMD_FN _VM##W _VM##W##_FIRST_N(size_t n) { return HETMP_YFIRST(W, n); } \
    HETMP_SIMD_FN _VI##W _VM##W##_TO_VI(_VM##W m) { return svdup_n_s##W##_z(m, -1); } \
    HETMP_SIMD_FN _VM##W _VM##W##_FROM_VI(_VI##W v) { return svcmpne_n_s##W(HETMP_YG(W), v, 0); } \
    HETMP_SIMD_FN uint64_t _VM##W##_BITS(_VM##W m) { \
        int##W##_t lane[HETMP_YMOST / (W / 8)]; \
        uint64_t bits = 0; \
        svst1_s##W(HETMP_YG(W), lane, _VM##W##_TO_VI(m)); \
        for (int i = 0; i < HETMP_YN(W) && i < 64; i++) \
            bits |= (uint64_t)(lane[i] & 1) << i; \
        return bits; \
    } \
    HETMP_SIMD_FN _VM##W _VM##W##_FROM_BITS(uint64_t bits) { \
        int##W##_t lane[HETMP_YMOST / (W / 8)]; \
        for (int i = 0; i < HETMP_YN(W); i++) \
            lane[i] = (int##W##_t)(i < 64 ? (bits >> i) & 1 : 0); \
        return _VM##W##_FROM_VI(svld1_s##W(HETMP_YG(W), lane)); \
    } \
    HETMP_SIMD_FN int _VM##W##_ANY(_VM##W m) { return svptest_any(HETMP_YG(W), m); } \
    HETMP_SIMD_FN int _VM##W##_ALL(_VM##W m) { return !svptest_any(HETMP_YG(W), _VM##W##_NOT(m)); } \
    HETMP_SIMD_FN int _VM##W##_NONE(_VM##W m) { return !_VM##W##_ANY(m); } \
    HETMP_SIMD_FN int _VM##W##_COUNT(_VM##W m) { return (int)svcntp_b##W(HETMP_YG(W), m); } \
    HETMP_SIMD_FN int _VM##W##_FIRST(_VM##W m) { /* the lanes before the first true one */ \
        return (int)svcntp_b##W(HETMP_YG(W), svbrkb_z(HETMP_YG(W), m)); \
    }
HETMP_YMASK(8)
HETMP_YMASK(16)
HETMP_YMASK(32)
HETMP_YMASK(64)

/* What every lane type has. Lane by lane, through memory: LOAD_STRIDE, STORE_STRIDE, EXPAND. */
#define HETMP_YLANES(T, L, W, t, U, S) \
    HETMP_SIMD_FN _##T _##T##_SET1(L x) { return svdup_n_##t(x); } \
    HETMP_SIMD_FN _##T _##T##_ZERO(void) { return svdup_n_##t(0); } \
    HETMP_SIMD_FN _##T _##T##_LOAD(const L *p) { return svld1_##t(HETMP_YG(W), p); } \
    HETMP_SIMD_FN _##T _##T##_LOADU(const L *p) { return svld1_##t(HETMP_YG(W), p); } \
    HETMP_SIMD_FN _##T _##T##_LOADA(const L *p) { return svld1_##t(HETMP_YG(W), p); } \
    HETMP_SIMD_FN void _##T##_STORE(L *p, _##T v) { svst1_##t(HETMP_YG(W), p, v); } \
    HETMP_SIMD_FN void _##T##_STOREU(L *p, _##T v) { svst1_##t(HETMP_YG(W), p, v); } \
    HETMP_SIMD_FN void _##T##_STOREA(L *p, _##T v) { svst1_##t(HETMP_YG(W), p, v); } \
    HETMP_SIMD_FN _##T _##T##_LOAD_MASK(const L *p, _VM##W m) { return svld1_##t(m, p); } \
    HETMP_SIMD_FN void _##T##_STORE_MASK(L *p, _VM##W m, _##T v) { svst1_##t(m, p, v); } \
    HETMP_SIMD_FN _##T _##T##_LOAD_N(const L *p, size_t n) { return svld1_##t(HETMP_YFIRST(W, n), p); } \
    HETMP_SIMD_FN void _##T##_STORE_N(L *p, size_t n, _##T v) { svst1_##t(HETMP_YFIRST(W, n), p, v); } \
    HETMP_SIMD_FN _##T _##T##_LOAD_STRIDE(const L *p, ptrdiff_t s) { \
        L lane[HETMP_YMOST / sizeof(L)]; \
        for (ptrdiff_t i = 0; i < HETMP_YN(W); i++) \
            lane[i] = p[i * s]; \
        return svld1_##t(HETMP_YG(W), lane); \
    } \
    HETMP_SIMD_FN void _##T##_STORE_STRIDE(L *p, ptrdiff_t s, _##T v) { \
        L lane[HETMP_YMOST / sizeof(L)]; \
        svst1_##t(HETMP_YG(W), lane, v); \
        for (ptrdiff_t i = 0; i < HETMP_YN(W); i++) \
            p[i * s] = lane[i]; \
    } \
    HETMP_SIMD_FN L _##T##_EXTRACT(_##T v, size_t i) { \
        return svlastb_##t(HETMP_YFIRST(W, i % (size_t)HETMP_YN(W) + 1), v); \
    } \
    HETMP_SIMD_FN _##T _##T##_INSERT(_##T v, size_t i, L x) { \
        const svbool_t at = svcmpeq_n_u##W(HETMP_YG(W), HETMP_YLANE(W), (uint##W##_t)(i % (size_t)HETMP_YN(W))); \
        return svsel_##t(at, svdup_n_##t(x), v); \
    } \
    HETMP_SIMD_FN _VM##W _##T##_EQ(_##T a, _##T b) { return svcmpeq_##t(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _VM##W _##T##_NE(_##T a, _##T b) { return svcmpne_##t(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _VM##W _##T##_LT(_##T a, _##T b) { return svcmplt_##t(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _VM##W _##T##_LE(_##T a, _##T b) { return svcmple_##t(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _VM##W _##T##_GT(_##T a, _##T b) { return svcmpgt_##t(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _VM##W _##T##_GE(_##T a, _##T b) { return svcmpge_##t(HETMP_YG(W), a, b); } \
    HETMP_SIMD_FN _##T _##T##_SELECT(_VM##W m, _##T a, _##T b) { return svsel_##t(m, a, b); } \
    HETMP_YBITS(T, AND, W, U, svand_u##W##_x(HETMP_YG(W), x, y)) \
    HETMP_YBITS(T, OR, W, U, svorr_u##W##_x(HETMP_YG(W), x, y)) \
    HETMP_YBITS(T, XOR, W, U, sveor_u##W##_x(HETMP_YG(W), x, y)) \
    HETMP_YBITS(T, ANDNOT, W, U, svbic_u##W##_x(HETMP_YG(W), y, x)) \
    HETMP_SIMD_FN _##T _##T##_NOT(_##T a) { \
        return hetmp_##T##_from_##U(svnot_u##W##_x(HETMP_YG(W), hetmp_##T##_to_##U(a))); \
    } \
    HETMP_SIMD_FN _##T _##T##_BITSEL(_##T c, _##T a, _##T b) { \
        return _##T##_XOR(_##T##_AND(_##T##_XOR(a, b), c), b); \
    } \
    HETMP_SIMD_FN _##T _##T##_REVERSE(_##T v) { return svrev_##t(v); } \
    HETMP_SIMD_FN _##T _##T##_SWAP(_##T v) { \
        return svtbl_##t(v, sveor_n_u##W##_x(HETMP_YG(W), HETMP_YLANE(W), 1)); \
    } \
    HETMP_SIMD_FN _##T _##T##_INTERLEAVE_LO(_##T a, _##T b) { return svzip1_##t(a, b); } \
    HETMP_SIMD_FN _##T _##T##_INTERLEAVE_HI(_##T a, _##T b) { return svzip2_##t(a, b); } \
    HETMP_SIMD_FN _##T _##T##_EVEN(_##T a, _##T b) { return svuzp1_##t(a, b); } \
    HETMP_SIMD_FN _##T _##T##_ODD(_##T a, _##T b) { return svuzp2_##t(a, b); } \
    HETMP_SIMD_FN _##T _##T##_PERMUTE(_##T v, _##U i) { \
        return svtbl_##t(v, svand_n_u##W##_x(HETMP_YG(W), i, (uint##W##_t)(HETMP_YN(W) - 1))); \
    } \
    HETMP_SIMD_FN _##T _##T##_BROADCAST(_##T v, size_t i) { \
        return svdup_lane_##t(v, (uint##W##_t)(i % (size_t)HETMP_YN(W))); \
    } \
    HETMP_SIMD_FN _##T _##T##_SLIDE(_##T a, _##T b, size_t n) { \
        return svsplice_##t(svnot_b_z(HETMP_YG(W), HETMP_YFIRST(W, n)), a, b); \
    } \
    HETMP_SIMD_FN _##T _##T##_ROTATE(_##T v, size_t n) { return _##T##_SLIDE(v, v, n % (size_t)HETMP_YN(W)); } \
    HETMP_SIMD_FN _##T _##T##_EXPAND(_VM##W m, _##T v) { \
        L lane[HETMP_YMOST / sizeof(L)]; \
        int##W##_t on[HETMP_YMOST / sizeof(L)]; \
        L r[HETMP_YMOST / sizeof(L)]; \
        svst1_##t(HETMP_YG(W), lane, v); \
        svst1_s##W(HETMP_YG(W), on, _VM##W##_TO_VI(m)); \
        for (int i = 0, n = 0; i < HETMP_YN(W); i++) { \
            r[i] = lane[n]; \
            n -= (int)on[i]; \
            n = n < HETMP_YN(W) ? n : 0; \
        } \
        return svld1_##t(m, r); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD2(const L *p, _##T *a, _##T *b) { \
        *a = svget2_##t(svld2_##t(HETMP_YG(W), p), 0); \
        *b = svget2_##t(svld2_##t(HETMP_YG(W), p), 1); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD3(const L *p, _##T *a, _##T *b, _##T *c) { \
        *a = svget3_##t(svld3_##t(HETMP_YG(W), p), 0); \
        *b = svget3_##t(svld3_##t(HETMP_YG(W), p), 1); \
        *c = svget3_##t(svld3_##t(HETMP_YG(W), p), 2); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD4(const L *p, _##T *a, _##T *b, _##T *c, _##T *d) { \
        *a = svget4_##t(svld4_##t(HETMP_YG(W), p), 0); \
        *b = svget4_##t(svld4_##t(HETMP_YG(W), p), 1); \
        *c = svget4_##t(svld4_##t(HETMP_YG(W), p), 2); \
        *d = svget4_##t(svld4_##t(HETMP_YG(W), p), 3); \
    } \
    HETMP_SIMD_FN void _##T##_STORE2(L *p, _##T a, _##T b) { svst2_##t(HETMP_YG(W), p, svcreate2_##t(a, b)); } \
    HETMP_SIMD_FN void _##T##_STORE3(L *p, _##T a, _##T b, _##T c) { \
        svst3_##t(HETMP_YG(W), p, svcreate3_##t(a, b, c)); \
    } \
    HETMP_SIMD_FN void _##T##_STORE4(L *p, _##T a, _##T b, _##T c, _##T d) { \
        svst4_##t(HETMP_YG(W), p, svcreate4_##t(a, b, c, d)); \
    }
#define HETMP_YBITS(T, op, W, U, call) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { \
        const _##U x = hetmp_##T##_to_##U(a), y = hetmp_##T##_to_##U(b); \
        return hetmp_##T##_from_##U(call); \
    }
HETMP_YALL(HETMP_YLANES)

#define HETMP_YIOTA(T, L, W, t, U, S) \
    HETMP_SIMD_FN _##T _##T##_IOTA(void) { return svindex_##t(0, 1); }
HETMP_YINTS(HETMP_YIOTA)
#define HETMP_YIOTA_F(T, L, W, t, U, S) \
    HETMP_SIMD_FN _##T _##T##_IOTA(void) { return svcvt_##t##_s##W##_x(HETMP_YG(W), svindex_s##W(0, 1)); }
HETMP_YFLOATS(HETMP_YIOTA_F)

#define HETMP_YFAR(T, L, W, t) \
    HETMP_SIMD_FN _##T _##T##_GATHER(const L *p, _VI##W i) { \
        return svld1_gather_s##W##index_##t(HETMP_YG(W), p, i); \
    } \
    HETMP_SIMD_FN void _##T##_SCATTER(L *p, _VI##W i, _##T v) { \
        svst1_scatter_s##W##index_##t(HETMP_YG(W), p, i, v); \
    } \
    HETMP_SIMD_FN _##T _##T##_COMPRESS(_VM##W m, _##T v) { return svcompact_##t(m, v); }
HETMP_YFAR(VI32, int32_t, 32, s32)
HETMP_YFAR(VU32, uint32_t, 32, u32)
HETMP_YFAR(VF32, float, 32, f32)
HETMP_YFAR(VI64, int64_t, 64, s64)
HETMP_YFAR(VU64, uint64_t, 64, u64)
HETMP_YFAR(VF64, double, 64, f64)
#define HETMP_YCOMPRESS(T, L, W, t) \
    HETMP_SIMD_FN _##T _##T##_COMPRESS(_VM##W m, _##T v) { \
        L lane[HETMP_YMOST / sizeof(L) + 1]; \
        int##W##_t on[HETMP_YMOST / sizeof(L)]; \
        int n = 0; \
        svst1_##t(HETMP_YG(W), lane, v); \
        svst1_s##W(HETMP_YG(W), on, _VM##W##_TO_VI(m)); \
        for (int i = 0; i < HETMP_YN(W); i++) { \
            lane[n] = lane[i]; /* stays only where m is true */ \
            n -= (int)on[i]; \
        } \
        return svld1_##t(HETMP_YFIRST(W, n), lane); \
    }
HETMP_YCOMPRESS(VI8, int8_t, 8, s8)
HETMP_YCOMPRESS(VU8, uint8_t, 8, u8)
HETMP_YCOMPRESS(VI16, int16_t, 16, s16)
HETMP_YCOMPRESS(VU16, uint16_t, 16, u16)
#define HETMP_YCOMPRESS_STORE(T, L, W, t, U, S) \
    HETMP_SIMD_FN size_t _##T##_COMPRESS_STORE(L *p, _VM##W m, _##T v) { \
        const size_t n = (size_t)_VM##W##_COUNT(m); \
        _##T##_STORE_N(p, n, _##T##_COMPRESS(m, v)); \
        return n; \
    }
HETMP_YALL(HETMP_YCOMPRESS_STORE)

#define HETMP_YINT(T, L, W, t, U, S) \
    HETMP_Y2(T, ADD, W, svadd_##t) \
    HETMP_Y2(T, SUB, W, svsub_##t) \
    HETMP_Y2(T, MUL, W, svmul_##t) \
    HETMP_Y2(T, MULHI, W, svmulh_##t) \
    HETMP_Y2(T, MIN, W, svmin_##t) \
    HETMP_Y2(T, MAX, W, svmax_##t) \
    HETMP_Y2(T, ABSDIFF, W, svabd_##t) \
    HETMP_Y3(T, MULADD, W, svmla_##t) \
    HETMP_Y3(T, NMULADD, W, svmls_##t) \
    HETMP_SIMD_FN _##T _##T##_NEG(_##T a) { return svsub_##t##_x(HETMP_YG(W), svdup_n_##t(0), a); } \
    HETMP_SIMD_FN _##T _##T##_MULSUB(_##T a, _##T b, _##T c) { return _##T##_NEG(_##T##_NMULADD(a, b, c)); } \
    HETMP_SIMD_FN _##T _##T##_NMULSUB(_##T a, _##T b, _##T c) { return _##T##_NEG(_##T##_MULADD(a, b, c)); } \
    HETMP_SIMD_FN _##T _##T##_INC(_##T v, _VM##W m) { return svadd_n_##t##_m(m, v, 1); } \
    HETMP_SIMD_FN _##T _##T##_ADDS(_##T a, _##T b) { return svqadd_##t(a, b); } \
    HETMP_SIMD_FN _##T _##T##_SUBS(_##T a, _##T b) { return svqsub_##t(a, b); } \
    HETMP_SIMD_FN _##T _##T##_SHLV(_##T v, _##U n) { return svlsl_##t##_x(HETMP_YG(W), v, n); } \
    HETMP_SIMD_FN _##T _##T##_SHL(_##T v, unsigned n) { \
        return _##T##_SHLV(v, svdup_n_u##W((uint##W##_t)(n < W ? n : W))); \
    } \
    HETMP_SIMD_FN _##T _##T##_SHR(_##T v, unsigned n) { \
        return _##T##_SHRV(v, svdup_n_u##W((uint##W##_t)(n < W ? n : W))); \
    } \
    HETMP_SIMD_FN _##T _##T##_POPCNT(_##T v) { return hetmp_##T##_from_##U(svcnt_##t##_x(HETMP_YG(W), v)); } \
    HETMP_SIMD_FN _##T _##T##_CLZ(_##T v) { return hetmp_##T##_from_##U(svclz_##t##_x(HETMP_YG(W), v)); } \
    HETMP_SIMD_FN _##T _##T##_CTZ(_##T v) { return _##T##_CLZ(svrbit_##t##_x(HETMP_YG(W), v)); } \
    HETMP_SIMD_FN L _##T##_REDUCE_ADD(_##T v) { return (L)svaddv_##t(HETMP_YG(W), v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_MIN(_##T v) { return svminv_##t(HETMP_YG(W), v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_MAX(_##T v) { return svmaxv_##t(HETMP_YG(W), v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_AND(_##T v) { return svandv_##t(HETMP_YG(W), v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_OR(_##T v) { return svorv_##t(HETMP_YG(W), v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_XOR(_##T v) { return sveorv_##t(HETMP_YG(W), v); } \
    HETMP_SIMD_FN _##T _##T##_REM(_##T a, _##T b) { return _##T##_NMULADD(_##T##_DIV(a, b), b, a); }
/* The division gives 0 for x / 0 and the lowest number for the lowest / -1; of narrow lanes it is one by one. */
#define HETMP_YWIDE_DIV(T, W, t) HETMP_Y2(T, DIV, W, svdiv_##t)
#define HETMP_YNARROW_DIV(T, L, W, t) \
    HETMP_SIMD_FN _##T _##T##_DIV(_##T a, _##T b) { \
        L x[HETMP_YMOST / sizeof(L)], y[HETMP_YMOST / sizeof(L)]; \
        svst1_##t(HETMP_YG(W), x, a); \
        svst1_##t(HETMP_YG(W), y, b); \
        for (int i = 0; i < HETMP_YN(W); i++) \
            x[i] = (L)(y[i] == 0 ? 0 : x[i] / y[i]); \
        return svld1_##t(HETMP_YG(W), x); \
    }
HETMP_YNARROW_DIV(VI8, int8_t, 8, s8)
HETMP_YNARROW_DIV(VU8, uint8_t, 8, u8)
HETMP_YNARROW_DIV(VI16, int16_t, 16, s16)
HETMP_YNARROW_DIV(VU16, uint16_t, 16, u16)
HETMP_YWIDE_DIV(VI32, 32, s32)
HETMP_YWIDE_DIV(VU32, 32, u32)
HETMP_YWIDE_DIV(VI64, 64, s64)
HETMP_YWIDE_DIV(VU64, 64, u64)
#define HETMP_YSIGN(T, L, W, t, U, S) \
    HETMP_Y1(T, ABS, W, svabs_##t) \
    HETMP_SIMD_FN _##T _##T##_SHRV(_##T v, _##U n) { return svasr_##t##_x(HETMP_YG(W), v, n); }
HETMP_YSIGNED(HETMP_YSIGN)
#define HETMP_YSHR(T, L, W, t, U, S) \
    HETMP_SIMD_FN _##T _##T##_SHRV(_##T v, _##U n) { return svlsr_##t##_x(HETMP_YG(W), v, n); }
HETMP_YUNSIGNED(HETMP_YSHR)
HETMP_YINTS(HETMP_YINT)
#define HETMP_YUNSIGN(T, L, W, t, U, S) \
    HETMP_SIMD_FN _##T _##T##_AVG(_##T a, _##T b) { \
        return _##T##_SUB(_##T##_OR(a, b), _##T##_SHR(_##T##_XOR(a, b), 1)); \
    } \
    HETMP_SIMD_FN _##T _##T##_ROTLV(_##T v, _##T n) { \
        const _##T left = svand_n_##t##_x(HETMP_YG(W), n, W - 1); \
        const _##T right = svand_n_##t##_x(HETMP_YG(W), _##T##_NEG(n), W - 1); \
        return _##T##_OR(_##T##_SHLV(v, left), _##T##_SHRV(v, right)); \
    } \
    HETMP_SIMD_FN _##T _##T##_ROTRV(_##T v, _##T n) { return _##T##_ROTLV(v, _##T##_NEG(n)); } \
    HETMP_SIMD_FN _##T _##T##_ROTL(_##T v, unsigned n) { return _##T##_ROTLV(v, svdup_n_##t((L)n)); } \
    HETMP_SIMD_FN _##T _##T##_ROTR(_##T v, unsigned n) { return _##T##_ROTLV(v, svdup_n_##t((L)(0 - n))); }
HETMP_YUNSIGNED(HETMP_YUNSIGN)
HETMP_Y1(VI16, BSWAP, 16, svrevb_s16)
HETMP_Y1(VU16, BSWAP, 16, svrevb_u16)
HETMP_Y1(VI32, BSWAP, 32, svrevb_s32)
HETMP_Y1(VU32, BSWAP, 32, svrevb_u32)
HETMP_Y1(VI64, BSWAP, 64, svrevb_s64)
HETMP_Y1(VU64, BSWAP, 64, svrevb_u64)

/* A NaN gives way to the other operand before MINNUM's instruction, which would keep a signalling one. A sum folds
 * halves onto each other; lanes past the end are 0 for TBL, and never reach lane 0. */
#define HETMP_YFOLD(T, L, W, t, op) \
    HETMP_SIMD_FN L _##T##_REDUCE_##op(_##T v) { \
        for (int n = HETMP_YN(W) / 2; n > 0; n /= 2) \
            v = _##T##_##op(v, svtbl_##t(v, svadd_n_u##W##_x(HETMP_YG(W), HETMP_YLANE(W), (uint##W##_t)n))); \
        return _##T##_EXTRACT(v, 0); \
    }
#define HETMP_YFLOAT(T, L, W, t, U, S) \
    HETMP_Y2(T, ADD, W, svadd_##t) \
    HETMP_Y2(T, SUB, W, svsub_##t) \
    HETMP_Y2(T, MUL, W, svmul_##t) \
    HETMP_Y2(T, DIV, W, svdiv_##t) \
    HETMP_Y1(T, NEG, W, svneg_##t) \
    HETMP_Y1(T, ABS, W, svabs_##t) \
    HETMP_Y1(T, SQRT, W, svsqrt_##t) \
    HETMP_Y1(T, ROUND, W, svrintn_##t) \
    HETMP_Y1(T, FLOOR, W, svrintm_##t) \
    HETMP_Y1(T, CEIL, W, svrintp_##t) \
    HETMP_Y1(T, TRUNC, W, svrintz_##t) \
    HETMP_Y3(T, FMA, W, svmla_##t) \
    HETMP_Y3(T, FMS, W, svnmls_##t) \
    HETMP_Y3(T, FNMA, W, svmls_##t) \
    HETMP_Y3(T, FNMS, W, svnmla_##t) \
    HETMP_Y3(T, MULADD, W, svmla_##t) \
    HETMP_Y3(T, MULSUB, W, svnmls_##t) \
    HETMP_Y3(T, NMULADD, W, svmls_##t) \
    HETMP_Y3(T, NMULSUB, W, svnmla_##t) \
    HETMP_SIMD_FN _##T _##T##_COPYSIGN(_##T a, _##T b) { \
        const _##U sign = svdup_n_u##W((uint##W##_t)1 << (W - 1)); \
        return _##T##_BITSEL(hetmp_##T##_from_##U(sign), b, a); \
    } \
    HETMP_SIMD_FN _VM##W _##T##_ISNAN(_##T a) { return svcmpne_##t(HETMP_YG(W), a, a); } \
    HETMP_SIMD_FN _##T _##T##_MIN(_##T a, _##T b) { return svsel_##t(_##T##_LT(a, b), a, b); } \
    HETMP_SIMD_FN _##T _##T##_MAX(_##T a, _##T b) { return svsel_##t(_##T##_GT(a, b), a, b); } \
    HETMP_SIMD_FN _##T hetmp_number_##T(_##T a, _##T b) { return svsel_##t(_##T##_ISNAN(a), b, a); } \
    HETMP_SIMD_FN _##T _##T##_MINNUM(_##T a, _##T b) { \
        return svminnm_##t##_x(HETMP_YG(W), hetmp_number_##T(a, b), hetmp_number_##T(b, a)); \
    } \
    HETMP_SIMD_FN _##T _##T##_MAXNUM(_##T a, _##T b) { \
        return svmaxnm_##t##_x(HETMP_YG(W), hetmp_number_##T(a, b), hetmp_number_##T(b, a)); \
    } \
    HETMP_SIMD_FN _##T _##T##_RCP(_##T a) { return _##T##_DIV(svdup_n_##t(1), a); } \
    HETMP_SIMD_FN _##T _##T##_RSQRT(_##T a) { return _##T##_RCP(_##T##_SQRT(a)); } \
    HETMP_SIMD_FN _##T _##T##_RCP_EST(_##T a) { return svrecpe_##t(a); } \
    HETMP_SIMD_FN _##T _##T##_RSQRT_EST(_##T a) { return svrsqrte_##t(a); } \
    HETMP_YFOLD(T, L, W, t, ADD) \
    HETMP_YFOLD(T, L, W, t, MIN) \
    HETMP_YFOLD(T, L, W, t, MAX)
HETMP_YFLOATS(HETMP_YFLOAT)

#define HETMP_YMASKED(T, op, W, t) \
    HETMP_SIMD_FN _##T _##T##_MASK_##op(_##T r, _VM##W m, _##T a, _##T b) { return svsel_##t(m, _##T##_##op(a, b), r); }
#define HETMP_YMASKS(T, L, W, t, U, S) \
    HETMP_YMASKED(T, ADD, W, t) \
    HETMP_YMASKED(T, SUB, W, t) \
    HETMP_YMASKED(T, MUL, W, t) \
    HETMP_YMASKED(T, DIV, W, t) \
    HETMP_YMASKED(T, MIN, W, t) \
    HETMP_YMASKED(T, MAX, W, t) \
    HETMP_SIMD_FN _##T _##T##_MASK_MULADD(_##T r, _VM##W m, _##T a, _##T b, _##T c) { \
        return svsel_##t(m, _##T##_MULADD(a, b, c), r); \
    }
HETMP_YALL(HETMP_YMASKS)
#define HETMP_YMASKS_INT(T, L, W, t, U, S) \
    HETMP_YMASKED(T, REM, W, t) \
    HETMP_YMASKED(T, ADDS, W, t) \
    HETMP_YMASKED(T, SUBS, W, t)
HETMP_YINTS(HETMP_YMASKS_INT)

/* Conversions: those to integers saturate and make 0 of a NaN. Between floats of unlike width the machine works in the
 * even lanes of the wider ones. */
#define HETMP_YCONVERT(A, B, W, name) \
    HETMP_SIMD_FN _##B _##A##_TO_##B(_##A v) { return name##_x(HETMP_YG(W), v); }
HETMP_YCONVERT(VF32, VI32, 32, svcvt_s32_f32)
HETMP_YCONVERT(VF32, VU32, 32, svcvt_u32_f32)
HETMP_YCONVERT(VF64, VI64, 64, svcvt_s64_f64)
HETMP_YCONVERT(VF64, VU64, 64, svcvt_u64_f64)
HETMP_YCONVERT(VI32, VF32, 32, svcvt_f32_s32)
HETMP_YCONVERT(VU32, VF32, 32, svcvt_f32_u32)
HETMP_YCONVERT(VI64, VF64, 64, svcvt_f64_s64)
HETMP_YCONVERT(VU64, VF64, 64, svcvt_f64_u64)
#define HETMP_YWIDEN(A, B, lo, hi) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { return lo; } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { return hi; }
#define HETMP_YWIDEN_INT(A, B, b) HETMP_YWIDEN(A, B, svunpklo_##b(v), svunpkhi_##b(v))
HETMP_YWIDEN_INT(VI8, VI16, s16)
HETMP_YWIDEN_INT(VU8, VU16, u16)
HETMP_YWIDEN_INT(VI16, VI32, s32)
HETMP_YWIDEN_INT(VU16, VU32, u32)
HETMP_YWIDEN_INT(VI32, VI64, s64)
HETMP_YWIDEN_INT(VU32, VU64, u64)
HETMP_YWIDEN(VI32, VF64, _VI64_TO_VF64(svunpklo_s64(v)), _VI64_TO_VF64(svunpkhi_s64(v)))
HETMP_YWIDEN(VU32, VF64, _VU64_TO_VF64(svunpklo_u64(v)), _VU64_TO_VF64(svunpkhi_u64(v)))
HETMP_YWIDEN(VF32, VF64, svcvt_f64_f32_x(HETMP_YG(64), svzip1_f32(v, v)),
             svcvt_f64_f32_x(HETMP_YG(64), svzip2_f32(v, v)))
#define HETMP_YNARROW(B, A) \
    HETMP_SIMD_FN _##A _##B##_TO_##A(_##B lo, _##B hi) { return _##A##_EVEN(_##B##_AS_##A(lo), _##B##_AS_##A(hi)); }
HETMP_YNARROW(VI16, VI8)
HETMP_YNARROW(VU16, VU8)
HETMP_YNARROW(VI32, VI16)
HETMP_YNARROW(VU32, VU16)
HETMP_YNARROW(VI64, VI32)
HETMP_YNARROW(VU64, VU32)
#define HETMP_YSATURATE(B, A, LEAST, MOST) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { \
        const _##B least = _##B##_SET1(LEAST), most = _##B##_SET1(MOST); \
        return _##A##_EVEN(_##B##_AS_##A(_##B##_MIN(_##B##_MAX(lo, least), most)), \
                           _##B##_AS_##A(_##B##_MIN(_##B##_MAX(hi, least), most))); \
    }
HETMP_YSATURATE(VI16, VI8, INT8_MIN, INT8_MAX)
HETMP_YSATURATE(VI16, VU8, 0, UINT8_MAX)
HETMP_YSATURATE(VU16, VU8, 0, UINT8_MAX)
HETMP_YSATURATE(VI32, VI16, INT16_MIN, INT16_MAX)
HETMP_YSATURATE(VI32, VU16, 0, UINT16_MAX)
HETMP_YSATURATE(VU32, VU16, 0, UINT16_MAX)
HETMP_YSATURATE(VI64, VI32, INT32_MIN, INT32_MAX)
HETMP_YSATURATE(VI64, VU32, 0, UINT32_MAX)
HETMP_YSATURATE(VU64, VU32, 0, UINT32_MAX)
#define HETMP_YNARROW_F(A, name, uzp) \
    HETMP_SIMD_FN _##A _VF64_TO_##A(_VF64 lo, _VF64 hi) { \
        return uzp(name##_x(HETMP_YG(64), lo), name##_x(HETMP_YG(64), hi)); \
    }
HETMP_YNARROW_F(VF32, svcvt_f32_f64, svuzp1_f32)
HETMP_YNARROW_F(VI32, svcvt_s32_f64, svuzp1_s32)
HETMP_YNARROW_F(VU32, svcvt_u32_f64, svuzp1_u32)

/* The even, the odd lanes of v, each in a lane of twice the width, by a shift that keeps the value. */
#define HETMP_YPRODUCTS(A, B, W) \
    HETMP_SIMD_FN _##B hetmp_evens_##A(_##A v) { return _##B##_SHR(_##B##_SHL(_##A##_AS_##B(v), W), W); } \
    HETMP_SIMD_FN _##B hetmp_odds_##A(_##A v) { return _##B##_SHR(_##A##_AS_##B(v), W); } \
    HETMP_SIMD_FN _##B _##A##_MULEVEN(_##A a, _##A b) { return _##B##_MUL(hetmp_evens_##A(a), hetmp_evens_##A(b)); } \
    HETMP_SIMD_FN _##B _##A##_MULODD(_##A a, _##A b) { return _##B##_MUL(hetmp_odds_##A(a), hetmp_odds_##A(b)); }
HETMP_YPRODUCTS(VI8, VI16, 8)
HETMP_YPRODUCTS(VU8, VU16, 8)
HETMP_YPRODUCTS(VI16, VI32, 16)
HETMP_YPRODUCTS(VU16, VU32, 16)
HETMP_YPRODUCTS(VI32, VI64, 32)
HETMP_YPRODUCTS(VU32, VU64, 32)
HETMP_SIMD_FN _VI32 _VI16_DOT(_VI16 a, _VI16 b) { return _VI32_ADD(_VI16_MULEVEN(a, b), _VI16_MULODD(a, b)); }
HETMP_SIMD_FN _VI32 _VI16_DOTADD(_VI16 a, _VI16 b, _VI32 c) { return _VI32_ADD(_VI16_DOT(a, b), c); }
HETMP_SIMD_FN _VI32 _VI8_DOTADD(_VI8 a, _VI8 b, _VI32 c) { return svdot_s32(c, a, b); }
HETMP_SIMD_FN _VU32 _VU8_DOTADD(_VU8 a, _VU8 b, _VU32 c) { return svdot_u32(c, a, b); }
/* Four differences at a time are their product with ones. */
HETMP_SIMD_FN _VU64 _VU8_SAD(_VU8 a, _VU8 b) {
    const _VU32 fours = svdot_u32(svdup_n_u32(0), _VU8_ABSDIFF(a, b), svdup_n_u8(1));
    return _VU64_ADD(hetmp_evens_VU32(fours), hetmp_odds_VU32(fours));
}

/* A float of 16 bits stands in the lower half of a lane of 32. */
HETMP_SIMD_FN _VF32 hetmp_from_f16(_VU32 v) {
    return svcvt_f32_f16_x(HETMP_YG(32), svreinterpret_f16_u32(v));
}
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_LO(_VU16 v) { return hetmp_from_f16(svunpklo_u32(v)); }
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_HI(_VU16 v) { return hetmp_from_f16(svunpkhi_u32(v)); }
HETMP_SIMD_FN _VU16 hetmp_to_f16(_VF32 v) { return svreinterpret_u16_f16(svcvt_f16_f32_x(HETMP_YG(32), v)); }
HETMP_SIMD_FN _VU16 _VF32_TO_F16(_VF32 lo, _VF32 hi) { return svuzp1_u16(hetmp_to_f16(lo), hetmp_to_f16(hi)); }
HETMP_SIMD_FN _VF32 _VF32_FROM_BF16_LO(_VU16 v) { return _VU16_AS_VF32(svzip1_u16(svdup_n_u16(0), v)); }
HETMP_SIMD_FN _VF32 _VF32_FROM_BF16_HI(_VU16 v) { return _VU16_AS_VF32(svzip2_u16(svdup_n_u16(0), v)); }
HETMP_SIMD_FN _VU16 hetmp_to_bf16(_VF32 v) {
    const _VU32 bits = _VF32_AS_VU32(v), odd = svand_n_u32_x(HETMP_YG(32), _VU32_SHR(bits, 16), 1);
    const _VU32 even = _VU32_ADD(svadd_n_u32_x(HETMP_YG(32), bits, 0x7fff), odd);
    return _VU32_AS_VU16(svsel_u32(_VF32_ISNAN(v), svorr_n_u32_x(HETMP_YG(32), bits, 0x400000), even));
}
HETMP_SIMD_FN _VU16 _VF32_TO_BF16(_VF32 lo, _VF32 hi) { return svuzp2_u16(hetmp_to_bf16(lo), hetmp_to_bf16(hi)); }

/* SET(x0, x1, ...): lanes that are not given are 0. */
#define HETMP_YSET(T, L, ...) \
    (__extension__({ \
        const L hetmp_lanes_[HETMP_YMOST / sizeof(L)] = {__VA_ARGS__}; \
        _##T##_LOAD(hetmp_lanes_); \
    }))
#define _VF32_SET(...) HETMP_YSET(VF32, float, __VA_ARGS__)
#define _VF64_SET(...) HETMP_YSET(VF64, double, __VA_ARGS__)
#define _VI8_SET(...) HETMP_YSET(VI8, int8_t, __VA_ARGS__)
#define _VI16_SET(...) HETMP_YSET(VI16, int16_t, __VA_ARGS__)
#define _VI32_SET(...) HETMP_YSET(VI32, int32_t, __VA_ARGS__)
#define _VI64_SET(...) HETMP_YSET(VI64, int64_t, __VA_ARGS__)
#define _VU8_SET(...) HETMP_YSET(VU8, uint8_t, __VA_ARGS__)
#define _VU16_SET(...) HETMP_YSET(VU16, uint16_t, __VA_ARGS__)
#define _VU32_SET(...) HETMP_YSET(VU32, uint32_t, __VA_ARGS__)
#define _VU64_SET(...) HETMP_YSET(VU64, uint64_t, __VA_ARGS__)
#include "relations.h"
