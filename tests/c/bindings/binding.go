// SPDX-License-Identifier: Apache-2.0
//
// The C API from Go, by cgo. CGO_CFLAGS and CGO_LDFLAGS say where the library is; tests/c/CMakeLists.txt sets them.
package main

/*
#cgo LDFLAGS: -lprefixroute
#include <stdlib.h>
#include <string.h>
#include "prefixroute/c.h"
*/
import "C"

import (
	"fmt"
	"os"
	"strings"
	"unsafe"
)

func check(holds bool, what string, values ...any) {
	if !holds {
		fmt.Fprintln(os.Stderr, append([]any{"does not hold:", what}, values...)...)
		os.Exit(1)
	}
}

func text(e *C.prefixroute_error) string { return C.GoString(&e.text[0]) }

func main() {
	check(C.prefixroute_abi_version() == C.PREFIXROUTE_ABI_VERSION, "ABI version")

	// C memory, for cgo lets no Go pointer lie where a Go pointer points to.
	const count = 3
	array := C.calloc(count, C.sizeof_prefixroute_instance)
	defer C.free(array)
	instances := unsafe.Slice((*C.prefixroute_instance)(array), count)
	for i := range instances {
		id := C.CString(fmt.Sprintf("10.0.0.%d:8000", i))
		defer C.free(unsafe.Pointer(id))
		instances[i] = C.prefixroute_instance{struct_size: C.sizeof_prefixroute_instance, weight: 1, id: id,
			id_size: C.strlen(id)}
	}
	var router *C.prefixroute_router
	var err C.prefixroute_error
	instances[1].weight = -1
	status := C.prefixroute_create(nil, &instances[0], count, &router, &err)
	check(status == C.PREFIXROUTE_INVALID_ARGUMENT && strings.Contains(text(&err), "instances[1].weight is -1"), text(&err))
	instances[1].weight = 1
	status = C.prefixroute_create(nil, &instances[0], count, &router, &err)
	check(status == C.PREFIXROUTE_OK, text(&err))
	defer C.prefixroute_destroy(router)

	prompt := C.CString("You are a lawyer.")
	defer C.free(unsafe.Pointer(prompt))
	request := C.prefixroute_request{struct_size: C.sizeof_prefixroute_request, prefix: unsafe.Pointer(prompt),
		prefix_size: C.strlen(prompt)}
	decision := C.prefixroute_decision{struct_size: C.sizeof_prefixroute_decision}
	var lease C.prefixroute_lease
	status = C.prefixroute_acquire(router, &request, &lease, &decision, &err)
	check(status == C.PREFIXROUTE_OK, text(&err))
	home := decision.instance
	check(C.GoString(C.prefixroute_reason_name(decision.reason)) == "home", "reason", decision.reason)

	stats := C.prefixroute_stats{struct_size: C.sizeof_prefixroute_stats}
	status = C.prefixroute_get_stats(router, &stats, nil, 0, nil, &err)
	check(status == C.PREFIXROUTE_OK && stats.outstanding == 1 && stats.decisions[decision.reason] == 1, "stats", stats)

	// Another goroutine, which may be another thread, gives it back.
	done := make(chan C.prefixroute_status)
	go func() {
		C.prefixroute_first_token(router, &lease)
		done <- C.prefixroute_finish(router, &lease)
	}()
	check(<-done == C.PREFIXROUTE_OK, "finish")
	check(C.prefixroute_finish(router, &lease) == C.PREFIXROUTE_NOT_FOUND, "second finish")

	var loads [count]C.prefixroute_load
	excluded := C.malloc(count * 4)
	defer C.free(excluded)
	indexes := unsafe.Slice((*C.uint32_t)(excluded), count)
	indexes[0] = home
	request.exclude_indexes = &indexes[0]
	request.exclude_count = 1
	status = C.prefixroute_route(router, &request, &loads[0], count, &decision, &err)
	check(status == C.PREFIXROUTE_OK && decision.instance != home && decision.home == home, "route", decision)
	indexes[0], indexes[1], indexes[2] = 0, 1, 2
	request.exclude_count = count
	status = C.prefixroute_route(router, &request, &loads[0], count, &decision, &err)
	check(status == C.PREFIXROUTE_UNAVAILABLE && strings.Contains(text(&err), "no instance is available"), text(&err))
	fmt.Println("cgo:", C.GoString(C.prefixroute_version()))
}
