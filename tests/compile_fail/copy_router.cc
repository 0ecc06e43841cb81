// SPDX-License-Identifier: Apache-2.0
//
// A copy of a router would count apart from the first.

#include "prefixroute/router.h"

void Use(prefixroute::Router& router) {
#if defined(GOOD)
  prefixroute::Router& second = router;
#else
  prefixroute::Router second = router;
#endif
  (void)second.Stats();
}
