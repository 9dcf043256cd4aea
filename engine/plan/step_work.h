// StepWork: what one training step has to do, counted: floating-point operations, bytes over the bus, of the device's
// memory and of the disk, parameters to update. Times follow from it and the machine's rates (step_time.h). Pure.
#pragma once

#include "plan/memory_layout.h"

namespace millrace {

/// Of one of the two phases, summed over the step's groups. The head's loss and gradients count as backward: that is
/// when they are computed.
struct PhaseWork {
  double products = 0;        ///< floating-point operations of matrix products
  double attention = 0;       ///< floating-point operations inside the attention kernel
  double deviceBytes = 0;     ///< read and written in the device's memory by everything that is no product
  double in = 0;              ///< bytes to the device
  double out = 0;             ///< bytes from the device
  double diskRead = 0;        ///< bytes
  double diskWrite = 0;       ///< bytes
  double computeSeconds = -1; ///< as measured, in place of what the first three would take; negative: not measured
};

struct StepWork {
  PhaseWork forward, backward;
  double tokens = 0;
  double headProducts = 0; ///< floating-point operations of the head's matrix products, which are among backward's
  double groups = 1;       ///< of micro-batches that go through the layers one after the other
  double units = 0;        ///< that a phase walks through: layers and the head
  double hostUpdates = 0;  ///< parameters that AdamW updates on the host, in memory
  double tableUpdates = 0; ///< of these the ones of tables, which stay there whatever waits for them
  double besideHead = 0;   ///< of tableUpdates those of tables that the head does not multiply by
  /// Bytes of host memory, of tables that are there, between the last gradient and the first layer of the next step:
  /// the rows' gradients are added, the table's is normed, rows of the next batch are updated and gathered.
  double tableTurn = 0;
  double heldUpdates =
      0; ///< of hostUpdates, with updates in backward, those that wait for the next forward all the same
  double diskUpdates = 0;   ///< as hostUpdates, whose state comes from disk
  double deviceUpdates = 0; ///< on the device
  double updateBytesIn = 0; ///< bytes a parameter to bring to the device so that AdamW can run there
  double updateBytesOut = 0;
  bool updatesInForward = true; ///< they wait for the clip factor; else they run as gradients land

  double diskWrites() const { return forward.diskWrite + backward.diskWrite; }
};

/// What does not depend on homes is counted once.
class StepCount {
 public:
  /// The layout must outlive it.
  explicit StepCount(const MemoryLayout& layout);

  /// Homes by unit. batches: as if the step had so many times its tokens, in as many groups. Takes no time that grows
  /// with the model.
  StepWork work(const HomeCounts& counts, double batches = 1) const;
  StepWork work(std::span<const UnitHome> homes, double batches = 1) const {
    return work(m_layout.counts(homes), batches);
  }

 private:
  void addTables(StepWork& work, UnitHome head) const;
  void addUnits(StepWork& work, const StreamUnit& unit, UnitHome home, double count) const;

  const MemoryLayout& m_layout;
  double m_groups = 1;
  StepWork m_base; ///< of no unit in particular
};

/// Keys that a query attends to on average, with a causal mask.
double averageKeys(std::int64_t context, std::int64_t window);

} // namespace millrace
