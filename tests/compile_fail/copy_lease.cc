// SPDX-License-Identifier: Apache-2.0
//
// A copy of a lease would give the request back twice.

#include <utility>

#include "prefixroute/router.h"

prefixroute::Lease Second(prefixroute::Lease& lease) {
#if defined(GOOD)
  return std::move(lease);
#else
  return lease;
#endif
}
