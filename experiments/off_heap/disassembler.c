/* The disassembler that HotSpot's -XX:+PrintAssembly looks for (hsdis), by Capstone. HotSpot calls one function with a piece of
 * machine code; it wants an event before and after each instruction, and the text in between. */
#include <capstone/capstone.h>
#include <stddef.h>
#include <stdint.h>

typedef void *(*event_function)(void *stream, const char *event, void *argument);
typedef int (*print_function)(void *stream, const char *format, ...);

#if defined(__x86_64__)
enum { ARCHITECTURE = CS_ARCH_X86, MODE = CS_MODE_64 };
#elif defined(__aarch64__)
enum { ARCHITECTURE = CS_ARCH_ARM64, MODE = CS_MODE_LITTLE_ENDIAN };
#endif

void *decode_instructions_virtual(uintptr_t start, uintptr_t end, unsigned char *code, uintptr_t length, event_function event,
				  void *events, print_function print, void *prints, const char *options, int newline)
{
	csh capstone;
	(void)options;
	if (cs_open(ARCHITECTURE, MODE, &capstone) != CS_ERR_OK)
		return (void *)start;
	cs_insn *found = cs_malloc(capstone);
	const uint8_t *at = code;
	size_t left = length < end - start ? length : end - start;
	uint64_t address = start;
	while (left > 0 && cs_disasm_iter(capstone, &at, &left, &address, found)) {
		event(events, "insn", (void *)(uintptr_t)found->address);
		print(prints, "%s %s", found->mnemonic, found->op_str);
		event(events, "/insn", (void *)(uintptr_t)address);
		if (newline)
			print(prints, "\n");
	}
	cs_free(found, 1);
	cs_close(&capstone);
	return (void *)(uintptr_t)address;
}
