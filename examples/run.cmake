# SPDX-License-Identifier: Apache-2.0
#
# Runs ${program}, and fails unless it ends with 0 and prints ${expected}.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${program} OUTPUT_VARIABLE output COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
message("${output}")
if(NOT "${output}" STREQUAL "${expected}")
  message(FATAL_ERROR "expected:\n${expected}")
endif()
