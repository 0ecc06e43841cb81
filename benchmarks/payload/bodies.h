// SPDX-License-Identifier: Apache-2.0

#ifndef PREFIXROUTE_BENCHMARKS_PAYLOAD_BODIES_H_
#define PREFIXROUTE_BENCHMARKS_PAYLOAD_BODIES_H_

#include <cstddef>
#include <string>

namespace prefixroute {

// Bodies of about `bytes`, as clients send them; those of different seeds differ.
using MakeBody = std::string (*)(size_t bytes, unsigned seed);

// Chats of text in lines of some 80 bytes: 4 messages, or as many as there are of some 150 bytes.
std::string FewLongMessages(size_t bytes, unsigned seed);
std::string ManyShortMessages(size_t bytes, unsigned seed);
// Of Chinese, as Python's json.dumps() writes it: each character in six bytes.
std::string EscapedText(size_t bytes, unsigned seed);
// Of source code, as an agent sends it: quotes, tabs and line feeds all over.
std::string SourceCode(size_t bytes, unsigned seed);
// Three quarters definitions of tools.
std::string ManyTools(size_t bytes, unsigned seed);
// An image of so many bytes in base64.
std::string Image(size_t bytes, unsigned seed);
// SGLang's input_ids.
std::string TokenIds(size_t bytes, unsigned seed);

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_PAYLOAD_BODIES_H_
