# SPDX-License-Identifier: Apache-2.0
#
# Fails unless the first C++ block of ${readme} is ${program}, but for its licence line.
cmake_minimum_required(VERSION 3.22)

file(READ ${program} code)
string(REGEX REPLACE "^// SPDX[^\n]*\n" "" code "${code}")

file(READ ${readme} text)
set(fence "```cpp\n")
string(FIND "${text}" "${fence}" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${readme} has no C++ block")
endif()
string(LENGTH "${fence}" fence_length)
math(EXPR begin "${begin} + ${fence_length}")
string(SUBSTRING "${text}" ${begin} -1 text)
string(FIND "${text}" "```" end)
string(SUBSTRING "${text}" 0 ${end} block)

if(NOT "${block}" STREQUAL "${code}")
  message(FATAL_ERROR "the C++ block of ${readme}:\n${block}\nis not ${program}:\n${code}")
endif()
