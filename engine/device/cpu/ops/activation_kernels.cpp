#include "device/cpu/ops/activation_kernels.h"

#include "device/cpu/ops/simd_math.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

struct ValueSlope {
  F32v value, slope;
};

struct Silu {
  MILLRACE_INLINE static F32v value(F32v x) { return x * sigmoid(x); }
  MILLRACE_INLINE static ValueSlope both(F32v x) {
    const Logistic s = logistic(x);
    return {x * s.value, s.value + x * s.slope};
  }
};

struct Gelu {
  MILLRACE_INLINE static F32v value(F32v x) { return x * normal(x).cumulative; }
  MILLRACE_INLINE static ValueSlope both(F32v x) {
    const Normal n = normal(x);
    return {x * n.cumulative, n.cumulative + x * n.density};
  }
};

// (1 + tanh(u)) / 2 is the logistic function of 2u, so no tanh is needed.
struct GeluTanh {
  MILLRACE_INLINE static F32v value(F32v x) { return x * sigmoid(x * (1.59576912f + 0.0713548162f * x * x)); }
  MILLRACE_INLINE static ValueSlope both(F32v x) {
    const Logistic s = logistic(x * (1.59576912f + 0.0713548162f * x * x));
    const F32v bend = x * (1.59576912f + 0.214064449f * x * x) * s.slope;
    // Far out the slope is 0 while the polynomial may be infinite; the product must stay 0.
    return {x * s.value, s.value + (s.slope == 0.0f ? s.slope : bend)};
  }
};

struct Relu {
  MILLRACE_INLINE static F32v value(F32v x) { return x < 0.0f ? F32v{} : x; }
  MILLRACE_INLINE static ValueSlope both(F32v x) { return {value(x), x > 0.0f ? splat(1.0f) : F32v{}}; }
};

struct ReluSquared {
  MILLRACE_INLINE static F32v value(F32v x) {
    const F32v r = Relu::value(x);
    return r * r;
  }
  MILLRACE_INLINE static ValueSlope both(F32v x) {
    const F32v r = Relu::value(x);
    return {r * r, r + r};
  }
};

template <class T, class Act>
struct Loops {
  static void forward(const Rows& xRows, const Rows& yRows, const Piece& piece) {
    for (std::int64_t r = piece.row; r < piece.row + piece.rows; ++r) {
      const T* x = rowOf<const T>(xRows, r) + piece.column;
      T* y = rowOf<T>(yRows, r) + piece.column;
      overRow(piece.columns, [&](std::int64_t i, auto part) { store(y + i, Act::value(load(x + i, part)), part); });
    }
  }

  static void backward(const Rows& dYRows, const Rows& xRows, const Rows& dXRows, const Piece& piece) {
    for (std::int64_t r = piece.row; r < piece.row + piece.rows; ++r) {
      const T* dY = rowOf<const T>(dYRows, r) + piece.column;
      const T* x = rowOf<const T>(xRows, r) + piece.column;
      T* dX = rowOf<T>(dXRows, r) + piece.column;
      overRow(piece.columns, [&](std::int64_t i, auto part) {
        store(dX + i, load(dY + i, part) * Act::both(load(x + i, part)).slope, part);
      });
    }
  }

  static void gated(const Rows& gateUpRows, std::int64_t up, const Rows& yRows, const Piece& piece) {
    for (std::int64_t r = piece.row; r < piece.row + piece.rows; ++r) {
      const T* gate = rowOf<const T>(gateUpRows, r) + piece.column;
      T* y = rowOf<T>(yRows, r) + piece.column;
      overRow(piece.columns, [&](std::int64_t i, auto part) {
        store(y + i, Act::value(load(gate + i, part)) * load(gate + up + i, part), part);
      });
    }
  }

  static void gatedBackward(const Rows& dYRows, const Rows& gateUpRows, std::int64_t up, const Rows& dGateUpRows,
                            const Piece& piece) {
    for (std::int64_t r = piece.row; r < piece.row + piece.rows; ++r) {
      const T* dY = rowOf<const T>(dYRows, r) + piece.column;
      const T* gate = rowOf<const T>(gateUpRows, r) + piece.column;
      T* dGate = rowOf<T>(dGateUpRows, r) + piece.column;
      overRow(piece.columns, [&](std::int64_t i, auto part) {
        const F32v upstream = load(dY + i, part);
        const ValueSlope act = Act::both(load(gate + i, part));
        const F32v upValue = load(gate + up + i, part);
        store(dGate + i, upstream * upValue * act.slope, part);
        store(dGate + up + i, upstream * act.value, part);
      });
    }
  }
};

/// call(Loops<T, Act>{}) for the element type and the function.
template <class T, class Call>
MILLRACE_INLINE void withActivation(Activation kind, Call&& call) {
  switch (kind) {
  case Activation::Silu:
    return call(Loops<T, Silu>{});
  case Activation::Gelu:
    return call(Loops<T, Gelu>{});
  case Activation::GeluTanh:
    return call(Loops<T, GeluTanh>{});
  case Activation::Relu:
    return call(Loops<T, Relu>{});
  case Activation::ReluSquared:
    return call(Loops<T, ReluSquared>{});
  }
}

template <class Call>
MILLRACE_INLINE void withLoops(bool bf16, Activation kind, Call&& call) {
  if (bf16)
    withActivation<BFloat16>(kind, call);
  else
    withActivation<float>(kind, call);
}

} // namespace

void activationPiece(const Rows& x, const Rows& y, bool bf16, Activation kind, const Piece& piece) {
  withLoops(bf16, kind, [&](auto loops) { loops.forward(x, y, piece); });
}

void activationBackwardPiece(const Rows& dY, const Rows& x, const Rows& dX, bool bf16, Activation kind,
                             const Piece& piece) {
  withLoops(bf16, kind, [&](auto loops) { loops.backward(dY, x, dX, piece); });
}

void gatedActivationPiece(const Rows& gateUp, std::int64_t up, const Rows& y, bool bf16, Activation kind,
                          const Piece& piece) {
  withLoops(bf16, kind, [&](auto loops) { loops.gated(gateUp, up, y, piece); });
}

void gatedActivationBackwardPiece(const Rows& dY, const Rows& gateUp, std::int64_t up, const Rows& dGateUp, bool bf16,
                                  Activation kind, const Piece& piece) {
  withLoops(bf16, kind, [&](auto loops) { loops.gatedBackward(dY, gateUp, up, dGateUp, piece); });
}

} // namespace millrace::cpu::MILLRACE_ISA
