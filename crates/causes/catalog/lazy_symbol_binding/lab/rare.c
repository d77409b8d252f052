/*
 * A library with as many symbols as a large C++ one has: what the loader reads to find one of them is several MB. The
 * functions that are called lie together, so that their own code is in one page, which the hot one keeps in memory.
 */

__asm__(".altmacro\n"
	".macro filler_numbered n\n"
	".globl some_rather_long_name_as_templates_have_them_\\n\n"
	".type some_rather_long_name_as_templates_have_them_\\n, %function\n"
	"some_rather_long_name_as_templates_have_them_\\n: ret\n"
	".endm\n"
	".macro rare_numbered n\n"
	".globl rare_function_\\n\n"
	".type rare_function_\\n, %function\n"
	"rare_function_\\n: ret\n"
	".endm\n"
	".section .text\n"
	".globl hot_function\n"
	".type hot_function, %function\n"
	"hot_function: ret\n"
	".set number, 0\n"
	".rept 64\n"
	"rare_numbered %number\n"
	".set number, number + 1\n"
	".endr\n"
	".set number, 0\n"
	".rept 60000\n"
	"filler_numbered %number\n"
	".set number, number + 1\n"
	".endr\n");
