#include "run/store_state.h"

namespace millrace {

namespace {
TensorStore::Quantity quantityOf(StatePlane plane) {
  switch (plane) {
  case StatePlane::Master:
    return TensorStore::Quantity::Master;
  case StatePlane::FirstMoment:
    return TensorStore::Quantity::Moment1;
  case StatePlane::SecondMoment:
    return TensorStore::Quantity::Moment2;
  }
  return TensorStore::Quantity::Master;
}
} // namespace

Status StoreState::read(std::size_t block, StatePlane plane, std::int64_t first, std::span<float> destination) const {
  ForwardRunner& runner = m_trainer.runner();
  return runner.store().read(*runner.streams().copyOut, block, quantityOf(plane), first, destination);
}

Status StoreState::write(std::size_t block, StatePlane plane, std::int64_t first, std::span<const float> source) {
  ForwardRunner& runner = m_trainer.runner();
  return runner.store().write(*runner.streams().copyIn, block, quantityOf(plane), first, source);
}

} // namespace millrace
