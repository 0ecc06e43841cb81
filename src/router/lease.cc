// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "prefixroute/router.h"
#include "src/state/state.h"

namespace prefixroute {

Lease::Lease(Lease&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), slot_(other.slot_), decision_(other.decision_) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  Finish();
  state_ = std::exchange(other.state_, nullptr);
  slot_ = other.slot_;
  decision_ = other.decision_;
  return *this;
}

std::string_view Lease::id() const { return active() ? state_->id(slot_) : std::string_view(); }

void Lease::Finish() noexcept {
  if (internal::State* state = std::exchange(state_, nullptr)) state->Release(slot_);
}

}  // namespace prefixroute
