/* What libjvm.so of JDK 17 exports for debuggers, with one heap of code: the interpreter, and `shop.Main.run`, into which `price` was
 * compiled. Linked as `tests/hotspot.rs` does, what is at some place of the file is as far from its first address in memory. */
typedef unsigned long u64; typedef unsigned char u1; typedef unsigned short u2; typedef unsigned int u4;
struct symbol { u2 length; char body[30]; };
static struct symbol class_symbol = {9, "shop/Main"}, method_symbol = {3, "run"}, inner_symbol = {5, "price"};
struct klass { u64 pad; struct symbol *name; };
static struct klass klass = {0, &class_symbol};
struct pool { u64 pad; struct klass *holder; struct symbol *entries[4]; };
static struct pool pool = {0, &klass, {0, &method_symbol, &inner_symbol, 0}};
struct constant { struct pool *pool; u2 name_index; };
static struct constant run_constant = {&pool, 1}, price_constant = {&pool, 2};
struct method { u64 pad; struct constant *constant; };
static struct method run_method = {0, &run_constant}, price_method = {0, &price_constant};
static const char nmethod_name[] = "nmethod", stub_name[] = "Interpreter";
/* Code in segments of 128 bytes: two pieces. */
struct block { u4 length; u1 used; u1 pad[11]; };
struct blob { const char *name; int frame_words; int compile_id; u1 *begin, *end; struct method *method; int pcs, deps, metadata, pad; u1 *scopes; };
struct desc { int pc, scope, object, flags; };
struct piece { struct block block; struct blob blob; u1 code[64]; struct desc descs[3]; struct method *methods[2]; u1 scopes[16]; u1 rest[512 - 16 - 64 - 64 - 48 - 16 - 16]; };
struct stub { struct block block; struct blob blob; u1 code[256 - 16 - 64]; };
static struct { struct stub stub; struct piece piece; u1 free[256]; } heap_memory __attribute__((aligned(128))) = {
  {{2, 1}, {stub_name, 0, 0, heap_memory.stub.code, heap_memory.stub.code + 176}},
  {{4, 1}, {nmethod_name, 4, 7, heap_memory.piece.code, heap_memory.piece.code + 64, &run_method,
     (int)__builtin_offsetof(struct piece, descs) - 16, (int)__builtin_offsetof(struct piece, methods) - 16, (int)__builtin_offsetof(struct piece, methods) - 16, 0, heap_memory.piece.scopes},
   {0x55}, {{-1, 0}, {32, 4}, {0x7fffffff, 0}}, {&run_method, &price_method}, {0, 0, 1, 0, /* 1: */ 8, 2, 3, 0, /* 8: */ 0, 1, 3}, {0}},
};
static u1 segments[8] = {0, 1, 0, 1, 2, 3, 0xff, 0xff};
struct space { u1 *low, *high, *high_boundary; };
struct heap { struct space memory; struct space segmap; int log2_segment; };
static struct heap heap = {{(u1 *)&heap_memory, (u1 *)&heap_memory + 768, (u1 *)&heap_memory + 1024}, {segments, segments + 8, segments + 8}, 7};
static struct heap *heap_data[1] = {&heap};
struct array { int length; int pad; struct heap **data; };
static struct array heaps_array = {1, 0, heap_data};
static struct array *heaps = &heaps_array;
static int major = 17;
struct entry { const char *type, *field, *text; int is_static; u64 offset; void *address; };
#define F(t, f, x, s, m) {t, f, x, 0, __builtin_offsetof(struct s, m), 0}
static struct entry entries[] = {
  {"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 1, 0, &heaps},
  F("GrowableArrayBase", "_len", "int", array, length), F("GrowableArray<int>", "_data", "int*", array, data),
  F("CodeHeap", "_memory", "VirtualSpace", heap, memory), F("CodeHeap", "_segmap", "VirtualSpace", heap, segmap),
  F("CodeHeap", "_log2_segment_size", "int", heap, log2_segment),
  F("VirtualSpace", "_low", "char*", space, low), F("VirtualSpace", "_high", "char*", space, high), F("VirtualSpace", "_high_boundary", "char*", space, high_boundary),
  F("HeapBlock::Header", "_used", "bool", block, used),
  F("CodeBlob", "_name", "const char*", blob, name), F("CodeBlob", "_frame_size", "int", blob, frame_words),
  F("CodeBlob", "_code_begin", "address", blob, begin), F("CodeBlob", "_code_end", "address", blob, end),
  F("CompiledMethod", "_method", "Method*", blob, method), F("CompiledMethod", "_scopes_data_begin", "address", blob, scopes),
  F("nmethod", "_compile_id", "int", blob, compile_id),
  F("nmethod", "_scopes_pcs_offset", "int", blob, pcs), F("nmethod", "_dependencies_offset", "int", blob, deps), F("nmethod", "_metadata_offset", "int", blob, metadata),
  F("PcDesc", "_pc_offset", "int", desc, pc), F("PcDesc", "_scope_decode_offset", "int", desc, scope),
  F("Method", "_constMethod", "ConstMethod*", method, constant),
  F("ConstMethod", "_constants", "ConstantPool*", constant, pool), F("ConstMethod", "_name_index", "u2", constant, name_index),
  F("ConstantPool", "_pool_holder", "InstanceKlass*", pool, holder),
  F("Klass", "_name", "Symbol*", klass, name), F("Symbol", "_length", "u2", symbol, length), F("Symbol", "_body[0]", "u1", symbol, body),
  {"Abstract_VM_Version", "_vm_major_version", "int", 1, 0, &major},
  {0},
};
struct type { const char *name; u64 size; };
static struct type types[] = {{"HeapBlock", sizeof(struct block)}, {"ConstantPool", 16}, {"PcDesc", sizeof(struct desc)}, {0}};
#define E __attribute__((visibility("default"))) 
E struct entry *gHotSpotVMStructs = entries;
E u64 gHotSpotVMStructEntryArrayStride = sizeof(struct entry);
#define O(n, m) E u64 n = __builtin_offsetof(struct entry, m);
O(gHotSpotVMStructEntryTypeNameOffset, type) O(gHotSpotVMStructEntryFieldNameOffset, field) O(gHotSpotVMStructEntryTypeStringOffset, text)
O(gHotSpotVMStructEntryIsStaticOffset, is_static) O(gHotSpotVMStructEntryOffsetOffset, offset) O(gHotSpotVMStructEntryAddressOffset, address)
E struct type *gHotSpotVMTypes = types;
E u64 gHotSpotVMTypeEntryArrayStride = sizeof(struct type), gHotSpotVMTypeEntryTypeNameOffset = 0, gHotSpotVMTypeEntrySizeOffset = 8;
