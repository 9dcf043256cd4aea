// Rates of the CPU's matrix products and attention as a share of what one thread's sgemm reaches in the same process
// times the threads. Prints JSON: rates in GFLOP/s, causal attention counted as the half that is visible.
#include "device/cpu/ops/attention.h"
#include "device/cpu/ops/attention_backward.h"
#include "device/cpu/ops/matmul.h"
#include "device/cpu/ops/matmul_onednn.h"

#include "base/random.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

using namespace millrace;

namespace {

struct Free {
  void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{operandAlignment}); }
};

class Memory {
 public:
  TensorView view(DType dtype, Shape shape, bool random = true) {
    const Bytes bytes = shape.elements() * bytesPerElement(dtype);
    m_areas.emplace_back(
        static_cast<std::byte*>(::operator new (static_cast<std::size_t>(bytes), std::align_val_t{operandAlignment})));
    TensorView result(m_areas.back().get(), dtype, shape);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const float value = random ? static_cast<float>(m_random.uniform() - 0.5) : 0.0f;
      if (dtype == DType::BF16)
        result.as<BFloat16>()[i] = toBFloat16(value);
      else
        result.as<float>()[i] = value;
    }
    return result;
  }

 private:
  Random m_random{1};
  std::vector<std::unique_ptr<std::byte, Free>> m_areas;
};

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One thread's fp32 sgemm of 1024^3: what everything is compared with.
class Yardstick {
 public:
  Yardstick()
      : m_a(m_memory.view(DType::F32, {size, size})),
        m_b(m_memory.view(DType::F32, {size, size})),
        m_c(m_memory.view(DType::F32, {size, size}, false)) {}

  /// Operations per second of this thread's processor time.
  double rate() {
    const double start = seconds(CLOCK_THREAD_CPUTIME_ID);
    cpu::sgemm(false, true, size, size, size, m_a.as<float>(), size, m_b.as<float>(), size, false, m_c.as<float>(),
               size);
    return 2.0 * size * size * size / (seconds(CLOCK_THREAD_CPUTIME_ID) - start);
  }

 private:
  static constexpr std::int64_t size = 1024;
  Memory m_memory;
  TensorView m_a, m_b, m_c;
};

/// Runs the work several times, the yardstick before and after each (clocks drift, and other programs compete for the
/// processor), and takes medians. share: of threads x the yardstick, by wall time; share_by_processor_time: of the
/// yardstick, by the processor time of all threads, which still says what the work costs where the machine is busy.
template <class Work>
nlohmann::json measure(Yardstick& yardstick, int threads, double operations, Work&& work) {
  std::vector<double> rates, shares, processorShares;
  work();
  const double begin = seconds(CLOCK_MONOTONIC);
  for (int i = 0; i < 9 && (i < 3 || seconds(CLOCK_MONOTONIC) - begin < 0.8); ++i) {
    const double before = yardstick.rate();
    const double start = seconds(CLOCK_MONOTONIC), processorStart = seconds(CLOCK_PROCESS_CPUTIME_ID);
    work();
    const double wall = seconds(CLOCK_MONOTONIC) - start;
    const double processor = seconds(CLOCK_PROCESS_CPUTIME_ID) - processorStart;
    const double single = 0.5 * (before + yardstick.rate());
    rates.push_back(operations / wall * 1e-9);
    shares.push_back(operations / wall / (single * threads));
    processorShares.push_back(operations / processor / single);
  }
  return {{"gflops", median(rates)}, {"share", median(shares)}, {"share_by_processor_time", median(processorShares)}};
}

nlohmann::json matmulRows(ThreadPool& pool, Yardstick& yardstick) {
  struct Form {
    const char* name;
    bool transposeA, transposeB, accumulate;
  };
  constexpr Form forms[] = {{"NT", false, true, false}, {"NN", false, false, false}, {"TN", true, false, true}};
  constexpr std::int64_t sizes[][3] = {{2048, 256, 256},   {2048, 768, 256},   {2048, 256, 1024}, {4096, 512, 512},
                                       {4096, 1024, 1024}, {2048, 1024, 4096}, {8192, 256, 512},  {8192, 1024, 256}};
  nlohmann::json rows = nlohmann::json::array();
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const auto& [tokens, out, in] : sizes) {
      for (const Form& form : forms) {
        // Forward Y = X W^T, backward dX = dY W, dW += dY^T X.
        const std::string name = form.name;
        const std::int64_t m = name == "TN" ? out : tokens, n = name == "NT" ? out : in;
        const std::int64_t k = name == "NT" ? in : name == "NN" ? out : tokens;
        Memory memory;
        MatmulArgs args;
        args.transposeA = form.transposeA;
        args.transposeB = form.transposeB;
        args.accumulate = form.accumulate;
        args.a = memory.view(dtype, form.transposeA ? Shape{k, m} : Shape{m, k});
        args.b = memory.view(dtype, form.transposeB ? Shape{n, k} : Shape{k, n});
        args.c = memory.view(form.accumulate ? DType::F32 : dtype, {m, n}, false);
        nlohmann::json row =
            measure(yardstick, pool.threads(), 2.0 * static_cast<double>(m * n * k), [&] { cpu::matmul(pool, args); });
        row.update({{"dtype", toString(dtype)}, {"form", name}, {"m", m}, {"n", n}, {"k", k}});
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

/// Visible (query, key) pairs of a causal row.
double visiblePairs(std::int64_t tokens, std::int64_t window) {
  double pairs = 0;
  for (std::int64_t t = 0; t < tokens; ++t) pairs += static_cast<double>(window > 0 ? std::min(window, t + 1) : t + 1);
  return pairs;
}

nlohmann::json attentionRows(ThreadPool& pool, Yardstick& yardstick) {
  struct Row {
    std::int64_t batch, tokens, heads, kvHeads, headSize, window;
  };
  constexpr Row table[] = {{4, 512, 8, 8, 64, 0},   {2, 1024, 8, 8, 64, 0},  {1, 2048, 8, 8, 64, 0},
                           {1, 2048, 4, 4, 64, 0},  {2, 1024, 8, 2, 64, 0},  {4, 512, 8, 4, 32, 0},
                           {1, 2048, 4, 4, 128, 0}, {1, 2048, 8, 8, 64, 256}};
  nlohmann::json rows = nlohmann::json::array();
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const Row& row : table) {
      const auto& [batch, tokens, heads, kvHeads, size, window] = row;
      Memory memory;
      const std::int64_t width = (heads + 2 * kvHeads) * size;
      const TensorView qkv = memory.view(dtype, {batch * tokens, width});
      const TensorView dQkv = memory.view(dtype, {batch * tokens, width}, false);
      const auto part = [&](const TensorView& from, std::int64_t column, std::int64_t count) {
        TensorView view = from;
        view.data = static_cast<std::byte*>(from.data) + column * bytesPerElement(dtype);
        view.shape = Shape{from.shape[0] / tokens, tokens, count, size};
        view.strides = {tokens * width, width, size, 1};
        return view;
      };
      AttentionArgs forward;
      forward.q = part(qkv, 0, heads);
      forward.k = part(qkv, heads * size, kvHeads);
      forward.v = part(qkv, (heads + kvHeads) * size, kvHeads);
      forward.out = memory.view(dtype, {batch, tokens, heads, size}, false);
      forward.lse = memory.view(DType::F32, {batch, heads, tokens}, false);
      forward.scale = 0.125f;
      forward.window = window;
      AttentionBackwardArgs backward;
      backward.q = forward.q;
      backward.k = forward.k;
      backward.v = forward.v;
      backward.out = forward.out;
      backward.lse = forward.lse;
      backward.dOut = memory.view(dtype, {batch, tokens, heads, size});
      backward.dQ = part(dQkv, 0, heads);
      backward.dK = part(dQkv, heads * size, kvHeads);
      backward.dV = part(dQkv, (heads + kvHeads) * size, kvHeads);
      backward.scratch = memory.view(DType::F32, {batch, tokens, heads, size + 1}, false);
      backward.scale = forward.scale;
      backward.window = window;
      // Two products forward and five backward, over visible pairs only.
      const double product = 2.0 * static_cast<double>(batch * heads * size) * visiblePairs(tokens, window);
      const auto add = [&](const char* pass, double operations, auto&& work) {
        nlohmann::json result = measure(yardstick, pool.threads(), operations, work);
        result.update({{"dtype", toString(dtype)},
                       {"pass", pass},
                       {"batch", batch},
                       {"tokens", tokens},
                       {"heads", heads},
                       {"kv_heads", kvHeads},
                       {"head_size", size},
                       {"window", window}});
        rows.push_back(std::move(result));
      };
      add("forward", 2 * product, [&] { cpu::attention(pool, forward); });
      add("backward", 5 * product, [&] { cpu::attentionBackward(pool, backward); });
      add("both", 7 * product, [&] {
        cpu::attention(pool, forward);
        cpu::attentionBackward(pool, backward);
      });
    }
  }
  return rows;
}

} // namespace

/// bench_kernels [threads] [matmul|attention]
int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  ThreadPool pool(std::max(1, threads));
  Yardstick yardstick;
  nlohmann::json result;
  result["threads"] = pool.threads();
  std::vector<double> rates;
  for (int i = 0; i < 9; ++i) rates.push_back(yardstick.rate() * 1e-9);
  result["single_thread_sgemm_gflops"] = median(rates);
  const std::string only = argc > 2 ? argv[2] : "";
  if (only != "attention") result["matmul"] = matmulRows(pool, yardstick);
  if (only != "matmul") result["attention"] = attentionRows(pool, yardstick);
  std::cout << result.dump(1) << '\n';
  return 0;
}
