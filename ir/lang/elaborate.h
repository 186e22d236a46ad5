#pragma once
// From a definition and its operands to nodes of a graph. Internal to ir/lang; the face is instantiate() in library.h.
//
// A definition that is being applied is an Instance. Formulas evaluate to Val. Reads in a statement become *records*
// and reductions become *pending reductions*, both named in expressions by provisional reads; when the statement is
// complete its extents are inferred, its reads proven, and the provisional reads replaced by those of the graph.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/lang/affine.h"
#include "ir/lang/library.h"
#include "ir/lang/value.h"

namespace frit::lang {

/// What a name means that is both a dim and an index (LANGUAGE.md section 4).
enum class Place : uint8_t { Value, Position, Extent };

struct Ctx {
  bool whole = true;  // a whole-tensor formula: names are whole operands that broadcast
  Place place = Place::Value;
  bool bracket = false;  // in the brackets of a read or write, or in a bound: integers are i64
  int elem = -1;         // the element of a pack pattern that is being written out
  Ctx at(Place p) const {
    Ctx c = *this;
    c.place = p;
    return c;
  }
  Ctx element(int k) const {
    Ctx c = *this;
    c.elem = k;
    return c;
  }
};

struct Frame {
  struct Binding {
    bool pack = false;
    std::vector<int> vars;
  };
  std::map<std::string, Binding> names;
  std::map<std::string, Val> accumulators, right;  // of a fold
  bool has_dots = false;
  std::vector<int> dots;
};

struct Dim {
  bool pack = false;
  int length = -1;                // of a pack, when known
  std::vector<int64_t> extents;   // -1 where not yet known
  std::vector<std::string> from;  // "x f32[8, 64]", for each extent
  bool is_known() const;
};

struct Instance {
  const Definition* def = nullptr;
  Instance* caller = nullptr;
  const Ex* site = nullptr;  // the call, in the caller's text
  std::string label;
  bool is_outermost = false;  // its results are those of the outermost definition
  bool whole = true;          // false: inlined into a formula with indices
  bool bracket = false;
  struct Attribute {
    const Ex* default_value = nullptr;
    std::optional<Val> value;
    bool busy = false;
  };
  std::map<std::string, Val> params;
  std::map<std::string, Attribute> attrs;
  std::map<std::string, Dim> dims;
  std::map<std::string, Val> locals;
  std::vector<Frame> frames;
  std::map<const Slot*, int> slot_lengths;  // of new packs
  std::map<const Ex*, int> pack_lengths;    // of patterns, found by the solver
  std::set<std::string> indices;            // names that a statement so far has bound
  std::vector<std::string> last_targets;
  bool matched = false;  // the signature is solved
};

/// Thrown where a dim is needed that later rounds of signature matching may solve.
struct NotYet {
  std::string dim;
};

/// One read of a tensor in a statement, or of a pending reduction.
struct Record {
  struct Part {
    Expr position;                                // over the indices of the statement
    int64_t extent = 0;                           // the position must lie below it
    int axis = 0;                                 // written axis
    int factor = -1;                              // of a tuple; -1: the flat position
    std::vector<std::pair<Expr, int64_t>> exact;  // value and divisor of each exact division
    const Ex* item = nullptr;
    bool proven = false;
  };
  TensorPtr tensor;
  bool whole = false;
  int pending = -1, result = 0;
  std::vector<Part> parts;
  bool guarded = false;
  std::vector<int> scope;  // indices bound where it stands
  size_t inner_from = 0;   // those from here on belong to the innermost reducer around it
  std::string reducer;     // the innermost reducer around it
  const Ex* site = nullptr;
};

struct PendingClause;

/// A tensor that a statement needs: a reduction, or (op None, no inner indices) the elements of a formula.
struct Pending {
  ReduceOp op = ReduceOp::None;
  bool mean = false;
  std::vector<int> outer, inner;
  std::vector<int> stored;              // the outer indices in the order of storage, without those that are always 0
  Expr body, payload;                   // built-in reducers
  std::vector<Expr> init, step, merge;  // fold
  std::vector<DType> nominal;
  std::optional<DType> rounded;  // the type of its only result, where that is f16 or bf16
  const Ex* site = nullptr;
  std::shared_ptr<const PendingClause> clause;  // the value of a definition with a `grad` clause
  Value node;                                   // when built
  std::vector<Value> views;                     // of its results, where they are not those of the node as it is
  bool built = false;
  Value value(int result) const {
    return views.empty() ? Value{node.node, result} : views[static_cast<size_t>(result)];
  }
};

/// A definition applied to operands.
struct Call {
  const Definition* def = nullptr;
  std::vector<Val> operands;
  std::map<std::string, Val> attributes;
  const Ex* site = nullptr;
  bool whole = true, bracket = false, is_outermost = false;
  std::string label;
  std::vector<Val> adjoints;  // of the results: then what is wanted are the adjoints that the `grad` clause gives
};

/// A call in a formula whose operands and value are pending.
struct PendingClause {
  struct Operand {
    int pending;
    DType nominal;
  };
  Call call;
  std::vector<Operand> operands;  // those that are no static values
  DType value = DType::F32;
};

/// The `if` below which a name would have been defined, or nullptr.
const Stmt* defining_if(const std::vector<Stmt>& block, const std::string& name);

/// An axis of the left side: its factors as indices, and where it sits.
struct LeftAxis {
  std::vector<int> vars;
  int real = -1;
};

class Builder;
struct Scan;

// What keeps hostile text from taking all time or memory; no layer comes near.
constexpr int64_t kStepLimit = 500'000;    // steps of one application of a definition
constexpr int64_t kCallSteps = 16;         // what a call counts for
constexpr int64_t kPositionLimit = 2'000;  // steps of one position or bound: proofs descend into it
constexpr int64_t kListLimit = 65'536;     // elements
constexpr size_t kRankLimit = 64;          // axes of a tensor, items of a read
constexpr size_t kIndexLimit = 256;        // indices bound at one place
constexpr int kFormulaLimit = 700;         // operators and calls inside one another, over all calls

/// The functions that need no definition, but for reducers and casts.
const std::vector<std::string>& builtin_names();

class Elaborator {
 public:
  Elaborator(Graph& graph, const Library& library) : graph_(graph), library_(library), ranges_(vars_) {}
  std::vector<Value> outermost(const Definition& def, const std::vector<Operand>& operands,
                               const Attributes& attributes, const std::string& label);

 private:
  friend class PackSolver;

  // ---- errors (elaborate.cpp)
  [[noreturn]] void fail(Span span, std::string what, std::string got = {}, std::string expected = {},
                         std::string fix = {}) const;
  void count_step(Span span);
  void check_nesting(Span span) const;
  void check_rank(size_t rank, Span span) const;
  [[noreturn]] void unsupported(Span span, std::string what, std::string fix = {}) const;
  Finding finding(Span span, std::string what, std::string got = {}, std::string expected = {},
                  std::string fix = {}) const;
  void note(Finding finding);  // kept for the end of the statement
  void throw_findings();
  std::string text(Span span) const { return std::string(self_->def->source->text(span)); }

  // ---- definitions and statements (elaborate.cpp)
  std::vector<Val> run(const Call& call);
  std::optional<std::vector<Val>> execute(const std::vector<Stmt>& block);
  std::optional<std::vector<Val>> execute(const Stmt& stmt);
  void let(const Stmt& stmt);

  // ---- writes (write.cpp)
  void write(const Stmt& stmt);
  TensorPtr written_local(const Ex& target);
  Val written_value(const Stmt& stmt, const Tensor& to, const Val& given);
  void check_target_dots(const Record& target, const Frame& frame);
  TensorPtr build_write(const Record& record, const std::vector<int>& vars, ScatterOp op, const Val& value,
                        const std::string& label);
  Value stored_as(Value value, DType dtype, const std::string& label);
  Value element_of_rank(Value value, size_t rank, const std::string& label);
  void require(const Stmt& stmt);
  bool decide(const Ex& condition);
  void define(const std::string& name, Span span, Val value);
  bool is_inlineable(const Definition& def);
  Val import_operand(const Operand& operand, const Param& param, const std::string& label);
  Val import_constant(Value value, const Param& param);
  Value export_result(const Val& value, const std::string& label);

  // ---- gradients by hand (clause.cpp)
  bool wants_clause(const Call& call) const;
  void materialise_operands(Call& call);
  void attach_clause(const Call& call, std::vector<Val>& results);
  std::vector<Val> call_behind_clause(const Call& call, const Ex& e);
  void build_clause(Pending& pending, const std::string& label);
  std::vector<Val> run_clause(const Call& call);
  CustomGradient make_clause(const Call& call, const std::vector<TensorPtr>& operands,
                             const std::vector<TensorPtr>& values);
  Value add_custom(CustomGradient custom, const std::vector<TensorPtr>& operands, const std::vector<TensorPtr>& values,
                   const std::string& label);

  // ---- signatures (signature.cpp)
  void bind_operands(const Call& call);
  void match_signature();
  bool match_operand(const Param& param, TensorPtr& tensor, int guess);
  bool solve_axis(const Param& param, const Slot& slot, int64_t extent, int axis, const Tensor& tensor,
                  std::vector<int64_t>* factors);
  bool learn(const std::string& name, int element, int64_t extent, const Slot& slot, int axis, const Tensor& tensor);
  void check_attribute_name(const Definition& def, const std::string& name, Span span) const;
  void check_type(const Param& param, const Val& value);
  int pack_length(const Slot& slot);
  std::string known_pack(const std::string& name);
  std::optional<Val> attribute(const std::string& name);
  std::vector<int> place(const std::vector<std::optional<int64_t>>& fixed, Span span, const std::string& what);
  const Dim* find_dim(const std::string& name) const;
  int64_t known_extent(const std::string& name, int element) const;

  // ---- names (names.cpp)
  void check_index_name(const Slot& slot);
  void check_accumulator_name(const std::string& name, Span span) const;
  bool is_known(const std::string& name, const std::vector<std::string>& inner) const;
  void check_names(const Ex& e, std::vector<std::string>& inner);
  void check_untaken(const Ex& e);

  // ---- packs (packs.cpp)
  void solve_packs(const std::vector<const std::vector<Slot>*>& binders, const std::vector<const Ex*>& bodies);
  int pattern_length(const Ex& inner, const Ctx& ctx);
  std::vector<Val> expand(const std::vector<ExPtr>& parts, const Ctx& ctx);
  std::vector<int64_t> dots_shape(const std::vector<const Ex*>& bodies);
  void collect_dots(const Ex& e, std::vector<std::pair<std::vector<int64_t>, const Ex*>>* found);

  // ---- formulas (formula.cpp)
  Val eval(const Ex& e, const Ctx& ctx);
  std::vector<Val> eval_multi(const Ex& e, const Ctx& ctx);
  Val eval_name(const Ex& e, const Ctx& ctx);
  Val eval_number(const Ex& e);
  Val eval_list(const std::vector<ExPtr>& items, const Ctx& ctx);
  Val pick(const Val& list, const std::vector<ExPtr>& items, size_t first, const Ctx& ctx, Span span);
  Val eval_unary(const Ex& e, const Ctx& ctx);
  Val eval_binary(const Ex& e, const Ctx& ctx);
  std::optional<Val> lookup(const std::string& name);
  std::optional<Val> lookup_index(const Ex& e, const Ctx& ctx);
  [[noreturn]] void unknown_name(const Ex& e);
  [[noreturn]] void unknown_function(const Ex& e) const;
  bool has_index(const Ex& e) const;
  const Frame::Binding* find_binding(const std::string& name) const;
  Val eval_static(const Ex& e, Place place = Place::Extent);
  int64_t eval_int(const Ex& e, std::string_view role);

  // ---- arithmetic (arithmetic.cpp)
  Val to_scalar(const Val& v, const Ctx& ctx, Span span);
  Expr convert(const Val& v, DType dtype, Span span);
  DType own_dtype(const Val& v, Span span);
  DType common(const Val& a, const Val& b, const Ex& e, Span span);
  std::string describe(const Val& v, const Ex& e);
  std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b, Span span);
  std::vector<int64_t> broadcast(const Val& a, const Val& b, const Ex& e);
  Val arithmetic(BinaryOp op, const Val& a, const Val& b, const Ctx& ctx, const Ex& e);
  Val compare(BinaryOp op, const Val& a, const Val& b, const Ex& e);
  Val logical(BinaryOp op, const Val& a, const Val& b, const Ex& e);
  bool is_sum(const Val& v, DType dtype) const;
  void check_narrow(const Val& a, const Val& b, Span span);
  Val static_arithmetic(BinaryOp op, const Val& a, const Val& b, const Ex& e);
  Val combine(Op op, const Val& a, const Val& b, const Ctx& ctx, const Ex& e);  // min, max, pow, tdiv ..
  Val select_value(const Val& c, const Val& a, const Val& b, const Ex& e);
  Val cast_value(const Val& v, DType dtype, Span span);
  Val map_choice(const Val& choice, const std::function<Val(const Val&)>& f);
  Expr to_index(const Val& v, Span span);
  Val negate(const Val& v, const Ex& e);

  // ---- calls (calls.cpp)
  std::vector<Val> call(const Ex& e, const Ctx& ctx);
  std::vector<Val> call_definition(const Definition& def, const Ex& e, const Ctx& ctx);
  std::optional<Val> call_builtin(const Ex& e, const Ctx& ctx);
  std::optional<Val> call_static(const Ex& e, const Ctx& ctx);  // len, rank, size, index ..
  std::optional<Val> call_scalar(const Ex& e, const Ctx& ctx);
  std::optional<std::vector<Val>> call_whole(const Ex& e, const Ctx& ctx);  // reshape, concat, sort
  Val list_reducer(const std::string& name, const std::vector<Val>& items, const Ctx& ctx, const Ex& e);
  Val float_function(Op op, const Val& v, const Ctx& ctx, const Ex& e);
  Val size_of(const Ex& e, const Ctx& ctx);
  Val index_of(const Ex& e, const Ctx& ctx);
  std::vector<Val> arguments(const Ex& e, const Ctx& ctx, size_t least, size_t most);
  bool has(const Ex& e);
  Val reshape(const Ex& e, const Ctx& ctx);
  Val concat(const Ex& e, const Ctx& ctx);
  std::vector<Val> sort(const Ex& e, const Ctx& ctx);

  // ---- reads (reads.cpp)
  Val read(const Val& operand, const Ex& e, const Ctx& ctx, const Ex* fill);
  std::vector<Record::Part> parts_of(const Tensor& tensor, const Ex& e, const Ctx& ctx, const char* verb = "read");
  Record::Part position(const Ex& item, const Ctx& ctx);
  int add_record(Record record);
  Val whole_read(const TensorPtr& tensor);

  // ---- binders and reductions (reduce.cpp)
  int add_var(std::string name, Span span, int64_t extent, bool reduced);
  enum class Binder : uint8_t { Left, Reducer, Loop };  // what the indices stand for: axes, elements, an order of writes
  std::vector<LeftAxis> bind(const std::vector<Slot>& slots, Frame* frame, Binder binder,
                             const std::vector<const Ex*>& bodies);
  LeftAxis bind_axis(const Slot& slot, Frame* frame, bool left, int element, std::vector<std::vector<int>>* pack_axes);
  int bind_name(const Slot& slot, Frame* frame, bool left, int element);
  Val reduce(const Ex& e, const Ctx& ctx);
  std::vector<Val> fold(const Ex& e, const Ctx& ctx);
  std::vector<int> outer_of(const std::vector<Expr>& bodies, const std::vector<int>& inner);
  Val pending_result(int pending, int result, DType nominal);
  std::vector<DType> fold_types(const Ex& e, const Ctx& ctx, Frame* frame);

  // ---- the end of a statement (statement.cpp)
  void indexed_let(const Stmt& stmt);
  void refuse_whole(const Expr& e, const Stmt& stmt) const;
  void refuse_whole(const Pending& pending, const Stmt& stmt) const;
  void infer(size_t first_record, size_t first_var, const Stmt& stmt);
  bool infer_round(size_t first_record, size_t first_var);
  void report_unknown(size_t first_record, size_t first_var, const Stmt& stmt);
  void prove(size_t first_record);
  bool is_never_read(const Record& record);
  void prove_part(Record& record, Record::Part& part);
  void report_range(const Record& record, const Record::Part& part, Interval range);
  std::string names_in(const Record& record, const Record::Part& part);
  void report_unbound(const Ex& item, const Stmt& stmt);
  void build_pending(Pending& pending, const std::string& label);
  void build_masked(Pending& pending, const std::string& label);
  bool build_scan(Pending& pending, const std::string& label);
  void add_views(const Scan& scan, Pending& pending, const std::string& label);
  std::vector<int> bounded(const std::vector<int>& vars) const;  // those with bounds that are not static
  Reduction reduction_of(const Pending& pending, Builder& builder, const std::vector<int>& guards,
                         const Expr& position);
  Expr mean_of(const Pending& pending, const Expr& sum, Builder& builder, const std::vector<int>& guards);
  /// Free axes in the order of storage: all factors where the tensor is stored by factors (gives true), else one for
  /// each axis.
  bool storage_order(std::vector<LeftAxis>& axes, Span span, std::vector<int>* order);
  std::optional<Value> alias_of(const std::vector<LeftAxis>& axes, const std::vector<int>& order, const Expr& built,
                                const std::vector<Value>& inputs, const Tensor& tensor);
  TensorPtr build_target(const Target& target, std::vector<LeftAxis> axes, const Val& value, const std::string& label);
  TensorPtr materialise(const Val& value, const std::string& name, bool rounds = false);
  bool is_only_result(const std::string& name) const;
  TensorPtr tensor_of(Val& value, const std::string& name);
  Value merged(Tensor& tensor);
  std::string label_of(const std::string& name) const;

  Graph& graph_;
  const Library& library_;
  Instance* self_ = nullptr;
  std::vector<IndexVar> vars_;
  std::vector<const Ex*> bounds_;  // of vars_, as written
  Ranges ranges_;
  std::vector<Record> records_;
  std::unordered_map<const Tensor*, int> whole_records_;
  std::vector<Pending> pendings_;
  std::vector<int> active_;            // indices bound here
  std::vector<std::string> reducers_;  // around here
  size_t innermost_ = 0;               // where the indices of the innermost of them start in active_
  std::vector<Finding> findings_;
  std::vector<std::pair<Expr, int64_t>>* exact_ = nullptr;  // exact divisions of the position being evaluated
  std::map<const Definition*, bool> inlineable_;
  const Stmt* statement_ = nullptr;
  const std::vector<ExPtr>* returned_ = nullptr;  // the parts of the return that is being evaluated
  std::set<std::string> unbound_;                 // reported in this statement
  int depth_ = 0;
  int64_t steps_ = 0;
  int nesting_ = 0;  // of eval

  friend class Builder;
};

}  // namespace frit::lang
