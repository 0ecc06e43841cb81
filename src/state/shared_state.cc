// SPDX-License-Identifier: Apache-2.0

#include "prefixroute/shared_state.h"

#include <utility>

#include "src/state/state.h"

namespace prefixroute {

absl::StatusOr<size_t> SharedState::BytesNeeded(const SharedStateShape& shape) {
  if (absl::Status status = internal::State::CheckShape(shape); !status.ok()) return status;
  return internal::Layout(shape).bytes;
}

absl::Status SharedState::Format(void* memory, size_t bytes, const SharedStateShape& shape) {
  return internal::State::Format(memory, bytes, shape);
}

absl::StatusOr<SharedState> SharedState::Attach(void* memory, size_t bytes, uint64_t token) {
  absl::StatusOr<std::unique_ptr<internal::State>> state = internal::State::Attach(memory, bytes, token);
  if (!state.ok()) return state.status();
  return SharedState(*std::move(state));
}

SharedState::SharedState(std::unique_ptr<internal::State> state) : state_(std::move(state)) {}
SharedState::SharedState(SharedState&&) noexcept = default;
SharedState& SharedState::operator=(SharedState&&) noexcept = default;
SharedState::~SharedState() = default;

absl::Status SharedState::Reap(uint64_t token) const {
  return state_ != nullptr ? state_->Reap(token) : absl::FailedPreconditionError("this SharedState was moved from");
}
std::vector<SharedState::Owner> SharedState::Owners() const {
  return state_ != nullptr ? state_->Owners() : std::vector<Owner>();
}
uint64_t SharedState::token() const { return state_ != nullptr ? state_->token() : 0; }

}  // namespace prefixroute
