// Filters that compare items with one another.
#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

struct Keyed {
  Value key;
  Value item;
};

/// Stable, as sorted() is; reverse keeps the order of equal items too.
void sortByKey(Heap& heap, std::vector<Keyed>& items, bool reverse) {
  if (reverse) std::reverse(items.begin(), items.end());
  std::stable_sort(items.begin(), items.end(),
                   [&](const Keyed& a, const Keyed& b) { return less(heap, a.key, b.key); });
  if (reverse) std::reverse(items.begin(), items.end());
}

Value keyOf(Heap& heap, const AttributePath& path, const Value& item, bool caseSensitive,
            const Value* fallback = nullptr) {
  const Value key = path.of(heap, item, fallback);
  return caseSensitive ? key : withoutCase(heap, key);
}

Value listOfItems(Heap& heap, const std::vector<Keyed>& items) {
  Values list;
  for (const Keyed& entry : items) list.push_back(entry.item);
  return heap.list(std::move(list));
}

Value sort(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_sort", arguments, {{"value", true}, {"reverse"}, {"case_sensitive"}, {"attribute"}},
                             1);
  Heap& heap = runtime.heap();
  // Several attributes: "age,name".
  std::vector<AttributePath> paths;
  if (bound[3].isString()) {
    const std::string_view text = bound[3].text();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      paths.emplace_back(heap.string(std::string(text.substr(begin, end - begin))));
      begin = end + 1;
    }
  } else {
    paths.emplace_back(bound[3]);
  }
  std::vector<Keyed> items;
  for (const Value& item : collect(heap, bound[0])) {
    Values keys;
    for (const AttributePath& path : paths) keys.push_back(keyOf(heap, path, item, bound.truthOr(2, false)));
    items.push_back({heap.list(std::move(keys)), item});
  }
  sortByKey(heap, items, bound.truthOr(1, false));
  return listOfItems(heap, items);
}

Value dictsort(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_dictsort", arguments, {{"value", true}, {"case_sensitive"}, {"by"}, {"reverse"}});
  Heap& heap = runtime.heap();
  const std::string_view by = !bound.has(2) ? "key" : bound[2].isString() ? bound[2].text() : "";
  if (by != "key" && by != "value") raise("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
  if (!bound[0].is(Kind::Dict)) noAttribute(bound[0], "items");
  std::vector<Keyed> items;
  for (const auto& [key, value] : bound[0].dict->items) {
    const Value& sortKey = by == "key" ? key : value;
    items.push_back({bound.truthOr(1, false) ? sortKey : withoutCase(heap, sortKey), heap.tuple({key, value})});
  }
  sortByKey(heap, items, bound.truthOr(3, false));
  return listOfItems(heap, items);
}

Value unique(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("sync_do_unique", arguments, {{"value", true}, {"case_sensitive"}, {"attribute"}}, 1);
  Heap& heap = runtime.heap();
  const Value value = bound[0];
  const bool caseSensitive = bound.truthOr(1, false);
  const auto path = std::make_shared<AttributePath>(bound[2]);
  return heap.iterator(
      "generator", &value,
      [&heap, value, caseSensitive, path, source = ItemSource(), seen = Values()](Value& item) mutable {
        if (!source) source = iterate(heap, value);
        while (source(item)) {
          const Value key = keyOf(heap, *path, item, caseSensitive);
          if (key.is(Kind::List) || key.is(Kind::Dict))
            raise("TypeError", fmt::format("unhashable type: '{}'", typeName(key)));
          if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(heap, other, key); }))
            continue;
          heap.charge(sizeof(Value));
          seen.push_back(key);
          return true;
        }
        return false;
      });
}

template <bool largest>
Value extreme(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound(largest ? "do_max" : "do_min", arguments,
                             {{"value", true}, {"case_sensitive"}, {"attribute"}}, 1);
  Heap& heap = runtime.heap();
  const AttributePath path(bound[2]);
  std::optional<Keyed> best;
  const ItemSource next = iterate(heap, bound[0]);
  for (Value item; next(item);) {
    const Keyed candidate{keyOf(heap, path, item, bound.truthOr(1, false)), item};
    if (!best || compare(heap, largest ? Operator::Gt : Operator::Lt, candidate.key, best->key)) best = candidate;
  }
  return best ? best->item : heap.undefined("No aggregated item, sequence was empty.");
}

Value groupby(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("sync_do_groupby", arguments,
                             {{"value", true}, {"attribute", true}, {"default"}, {"case_sensitive"}}, 1);
  Heap& heap = runtime.heap();
  const AttributePath path(bound[1]);
  const Value* const fallback = bound.has(2) ? &bound[2] : nullptr;
  const bool caseSensitive = bound.truthOr(3, false);
  std::vector<Keyed> items;
  for (const Value& item : collect(heap, bound[0]))
    items.push_back({keyOf(heap, path, item, caseSensitive, fallback), item});
  sortByKey(heap, items, false);
  Values groups;
  for (std::size_t begin = 0; begin < items.size();) {
    Values members;
    std::size_t end = begin;
    while (end < items.size() && equal(heap, items[end].key, items[begin].key)) members.push_back(items[end++].item);
    const Value grouper = caseSensitive ? items[begin].key : path.of(heap, items[begin].item, fallback);
    groups.push_back(heap.group(grouper, heap.list(std::move(members))));
    begin = end;
  }
  return heap.list(std::move(groups));
}

Value sum(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("sync_do_sum", arguments, {{"iterable", true}, {"attribute"}, {"start"}}, 1);
  Heap& heap = runtime.heap();
  const AttributePath path(bound[1]);
  Value total = bound.has(2) ? bound[2] : Value::of(std::int64_t{0});
  if (total.isString()) raise("TypeError", "sum() can't sum strings [use ''.join(seq) instead]");
  const ItemSource next = iterate(heap, bound[0]);
  for (Value item; next(item);) total = arithmetic(heap, Operator::Add, total, path.of(heap, item));
  return total;
}

constexpr NamedFilter orderTable[] = {
    {"sort", &sort},         {"dictsort", &dictsort}, {"unique", &unique}, {"min", &extreme<false>},
    {"max", &extreme<true>}, {"groupby", &groupby},   {"sum", &sum},
};

} // namespace

std::span<const NamedFilter> orderFilters() {
  return orderTable;
}

} // namespace millrace::jinja
