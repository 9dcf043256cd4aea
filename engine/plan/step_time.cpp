#include "plan/step_time.h"

#include <algorithm>

namespace millrace {

namespace {

/// Of a GPU's rate in large matrix products, what our attention reaches: half its time goes into exponentials.
constexpr double attentionShareBf16 = 0.5;
constexpr double attentionShareFp32 = 0.3;
/// The CPU's works row by row.
constexpr double attentionShareCpu = 0.25;
constexpr double adamWBytes = 28; ///< of memory traffic a parameter: 16 read, 12 written

double over(double work, double rate) {
  return work <= 0 ? 0 : rate > 0 ? work / rate : 1e30; // what cannot be done takes for ever
}

double bus(double in, double out, const StepRates& rates) {
  return std::max({over(in, rates.in), over(out, rates.out), over(in + out, rates.both)});
}

double compute(const PhaseWork& phase, const StepRates& rates) {
  if (phase.computeSeconds >= 0) return phase.computeSeconds;
  return over(phase.products, rates.products) + over(phase.attention, rates.attention) +
         over(phase.deviceBytes, rates.deviceMemory);
}

double disk(const PhaseWork& phase, const StepRates& rates) {
  return over(phase.diskRead, rates.diskRead) + over(phase.diskWrite, rates.diskWrite);
}

/// Everything takes its turn on the same cores; a copy keeps one of them busy.
void predictShared(const StepWork& work, const StepRates& rates, StepTime& time) {
  const double threads = std::max(1, rates.threads);
  const auto copies = [&](const PhaseWork& phase) {
    return (over(phase.in, rates.in) + over(phase.out, rates.out)) / threads;
  };
  const double updates = time[StepResource::HostAdamW] + over(work.deviceUpdates, rates.deviceUpdate);
  time.forward = compute(work.forward, rates) + copies(work.forward) + disk(work.forward, rates);
  time.backward = compute(work.backward, rates) + copies(work.backward) + disk(work.backward, rates);
  (work.updatesInForward ? time.forward : time.backward) += updates;
  time.seconds = time.bound = time.forward + time.backward;
  const auto most = std::max_element(time.busy.begin(), time.busy.end());
  time.bottleneck = static_cast<StepResource>(most - time.busy.begin());
  time.computeBinds = time.bottleneck == StepResource::Compute;
}

struct Split {
  double moved = 0;   ///< parameters
  double seconds = 0; ///< of AdamW and the bus beside forward
};

/// AdamW of host-resident blocks, some of it on the device: as much as balances the host's time and the bus's.
Split splitUpdates(const StepWork& work, const StepRates& rates, double host, double whileForward) {
  const auto busWith = [&](double moved) {
    return bus(work.forward.in + moved * work.updateBytesIn, work.forward.out + moved * work.updateBytesOut, rates);
  };
  const double rate = work.hostUpdates > 0 ? work.hostUpdates / host : 0;
  const auto hostWith = [&](double moved) { return over(work.hostUpdates - moved, rate); };
  if (hostWith(0) <= std::max(whileForward, busWith(0))) return {0, std::max(hostWith(0), busWith(0))};
  double least = 0, most = work.hostUpdates;
  for (int i = 0; i < 30; ++i) {
    const double middle = (least + most) / 2;
    (hostWith(middle) > std::max(whileForward, busWith(middle)) ? least : most) = middle;
  }
  return {most, std::max(hostWith(most), busWith(most))};
}

/// What a phase waits for: its busiest resource.
struct Phase {
  double seconds = 0;
  StepResource bottleneck = StepResource::Compute;
  void take(double candidate, StepResource resource) {
    if (candidate <= seconds) return;
    seconds = candidate;
    bottleneck = resource;
  }
};

Phase busiest(const PhaseWork& work, const StepRates& rates, double computing) {
  Phase phase;
  phase.take(computing, StepResource::Compute);
  phase.take(bus(work.in, work.out, rates), work.in >= work.out ? StepResource::BusIn : StepResource::BusOut);
  phase.take(disk(work, rates), over(work.diskRead, rates.diskRead) >= over(work.diskWrite, rates.diskWrite)
                                    ? StepResource::DiskRead
                                    : StepResource::DiskWrite);
  return phase;
}

/// Resources of their own: a phase takes as long as its busiest one. Forward waits for updates with clipping on;
/// with it off they begin in backward and may run on beside the next forward.
void predictApart(const StepWork& work, const StepRates& rates, bool split, StepTime& time) {
  const double units = std::max(1.0, work.units);
  const double onDevice = over(work.deviceUpdates, rates.deviceUpdate);
  const double host = time[StepResource::HostAdamW];
  Phase forward = busiest(work.forward, rates, compute(work.forward, rates) + (work.updatesInForward ? onDevice : 0));
  Phase backward =
      busiest(work.backward, rates, compute(work.backward, rates) + (work.updatesInForward ? 0 : onDevice));
  // The first layer's weights precede all compute, the last gradient leaves after it.
  double ends =
      (bus(work.forward.in, work.forward.out, rates) + bus(work.backward.in, work.backward.out, rates)) / units;
  if (work.updatesInForward) {
    double beside = host;
    if (split && work.hostUpdates > 0) {
      const double inMemory = host * work.hostUpdates / (work.hostUpdates + work.diskUpdates);
      const Split shared = splitUpdates(work, rates, inMemory, forward.seconds);
      time.updatedOnDevice = shared.moved;
      beside = std::max(shared.seconds, host - inMemory * shared.moved / work.hostUpdates);
    }
    ends += std::min(forward.seconds, beside) / units; // and so does its update
    forward.take(beside, StepResource::HostAdamW);
    time.bound = forward.seconds + backward.seconds;
  } else {
    Phase whole;
    whole.take(host, StepResource::HostAdamW);
    PhaseWork both;
    both.diskRead = work.forward.diskRead + work.backward.diskRead;
    both.diskWrite = work.forward.diskWrite + work.backward.diskWrite;
    whole.take(disk(both, rates), StepResource::DiskRead);
    ends += host / units;
    time.bound = std::max(forward.seconds + backward.seconds, whole.seconds);
    if (whole.seconds > forward.seconds + backward.seconds)
      backward = {whole.seconds - forward.seconds, whole.bottleneck};
  }
  time.forward = forward.seconds;
  time.backward = backward.seconds;
  time.bottleneck = forward.seconds > backward.seconds ? forward.bottleneck : backward.bottleneck;
  time.computeBinds = forward.bottleneck == StepResource::Compute && backward.bottleneck == StepResource::Compute;
  time.seconds = time.bound + ends;
}

} // namespace

std::string_view toString(StepResource resource) {
  switch (resource) {
  case StepResource::Compute:
    return "compute";
  case StepResource::BusIn:
    return "bus in";
  case StepResource::BusOut:
    return "bus out";
  case StepResource::HostAdamW:
    return "AdamW on the host";
  case StepResource::DiskRead:
    return "disk read";
  case StepResource::DiskWrite:
    return "disk write";
  }
  return "unknown";
}

StepRates stepRates(const HardwareProfile& profile, Precision precision, int gpu, int threads, int gpus) {
  const bool cpu = gpu < 0;
  const DeviceRates& device = cpu ? profile.cpuRates : profile.nvidia.gpus[static_cast<std::size_t>(gpu)].rates;
  const Rate& products = precision == Precision::Fp32 ? device.gemmFp32 : device.gemmBf16;
  const HostRates& host = profile.hostRates;
  StepRates rates;
  rates.sharedCores = cpu;
  rates.threads = std::max(1, threads);
  rates.products = products.perSecond;
  rates.attention = rates.products * (cpu                            ? attentionShareCpu
                                      : precision == Precision::Bf16 ? attentionShareBf16
                                                                     : attentionShareFp32);
  rates.deviceMemory = cpu && !device.memory.known() ? host.memory.perSecond : device.memory.perSecond;
  rates.in = device.copyIn.perSecond;
  rates.out = device.copyOut.perSecond;
  rates.both = device.copyBoth.perSecond;
  rates.update = host.adamW.perSecond;
  rates.updateBesideCopies = host.adamWBesideCopies.known() ? host.adamWBesideCopies.perSecond : rates.update;
  rates.deviceUpdate = cpu ? rates.update : rates.deviceMemory / adamWBytes;
  // Several devices send a gradient each, which the host adds up: 8 bytes read, 4 written a parameter and device.
  if (gpus > 1 && host.memory.known()) {
    const double adding = 12.0 * (gpus - 1) / host.memory.perSecond;
    rates.update = 1 / (1 / rates.update + adding);
    rates.updateBesideCopies = 1 / (1 / rates.updateBesideCopies + adding);
  }
  for (const DiskFacts& disk : profile.disks) {
    rates.diskRead += disk.rates.read.perSecond;
    rates.diskWrite += disk.rates.write.perSecond;
  }
  const auto measured = [](const Rate& rate) { return rate.origin == RateOrigin::Measured; };
  rates.measured = measured(products) && measured(device.copyIn) && measured(host.adamW);
  return rates;
}

StepTime predictStep(const StepWork& work, const StepRates& rates, bool splitUpdates) {
  StepTime time;
  const auto set = [&](StepResource resource, double seconds) {
    time.busy[static_cast<std::size_t>(resource)] = seconds;
  };
  const double computing = compute(work.forward, rates) + compute(work.backward, rates);
  set(StepResource::Compute, computing + over(work.deviceUpdates, rates.deviceUpdate));
  set(StepResource::BusIn, over(work.forward.in + work.backward.in, rates.in));
  set(StepResource::BusOut, over(work.forward.out + work.backward.out, rates.out));
  // The bus is seldom still while a model streams; without traffic AdamW has the memory to itself.
  const double share = std::min(1.0, over(work.forward.in + work.forward.out, rates.in) /
                                         std::max(1e-12, over(work.hostUpdates + work.diskUpdates, rates.update)));
  const double update =
      rates.sharedCores ? rates.update : rates.update + share * (rates.updateBesideCopies - rates.update);
  set(StepResource::HostAdamW, over(work.hostUpdates + work.diskUpdates, update));
  set(StepResource::DiskRead, over(work.forward.diskRead + work.backward.diskRead, rates.diskRead));
  set(StepResource::DiskWrite, over(work.forward.diskWrite + work.backward.diskWrite, rates.diskWrite));
  if (rates.sharedCores)
    predictShared(work, rates, time);
  else
    predictApart(work, rates, splitUpdates, time);
  return time;
}

} // namespace millrace
