# SPDX-License-Identifier: Apache-2.0
#
# Builds the library alone, static or shared, installs it, and moves what it installed to ${work}/moved.
cmake_minimum_required(VERSION 3.22)

set(shared OFF)
if(kind STREQUAL "shared")
  set(shared ON)
endif()

file(REMOVE_RECURSE ${work}/original ${work}/moved)
foreach(step
    "-S;${source};-B;${work}/build;-G;${generator};-DCMAKE_BUILD_TYPE=Release;-DBUILD_SHARED_LIBS=${shared};\
-DCMAKE_CXX_COMPILER=${compiler};-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher};-DCMAKE_INSTALL_LIBDIR=lib;\
-DPREFIXROUTE_WERROR=ON;-DPREFIXROUTE_BUILD_TESTS=OFF;-DPREFIXROUTE_BUILD_EXAMPLES=OFF;\
-DPREFIXROUTE_BUILD_BENCHMARKS=OFF;-DPREFIXROUTE_BUILD_PAYLOAD=ON"
    "--build;${work}/build"
    "--install;${work}/build;--prefix;${work}/original")
  execute_process(COMMAND ${CMAKE_COMMAND} ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(RENAME ${work}/original ${work}/moved)
