# SPDX-License-Identifier: Apache-2.0
#
# prefixroute_compile_options: the warnings and sanitizers that everything in this tree is built with. Nobody outside
# sees it.

add_library(prefixroute_compile_options INTERFACE)
target_compile_features(prefixroute_compile_options INTERFACE cxx_std_17)
target_compile_options(prefixroute_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor $<$<BOOL:${PREFIXROUTE_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)

if(PREFIXROUTE_SANITIZE)
  set(sanitize -fsanitize=${PREFIXROUTE_SANITIZE} -fno-sanitize-recover=all)
  target_compile_options(prefixroute_compile_options INTERFACE ${sanitize} -fno-omit-frame-pointer)
  target_link_options(prefixroute_compile_options INTERFACE ${sanitize})
endif()
