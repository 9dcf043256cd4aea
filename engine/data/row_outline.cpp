#include "data/row_outline.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace {

namespace {

constexpr int deepest = 128;
constexpr std::size_t mostFieldsOfRow = 1000;

class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(RowOutline& outline, const std::string& wanted) : m_outline(outline), m_wanted(wanted) {}

  bool null() override { return value("null", RowField::Kind::Other); }
  bool boolean(bool) override { return value("a boolean", RowField::Kind::Other); }
  bool number_integer(number_integer_t) override { return value("a number", RowField::Kind::Other); }
  bool number_unsigned(number_unsigned_t) override { return value("a number", RowField::Kind::Other); }
  bool number_float(number_float_t, const string_t&) override { return value("a number", RowField::Kind::Other); }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& content) override {
    if (m_depth == 2 && m_key == "meta" && m_innerKey == "pile_set_name") m_outline.set = content;
    if (m_depth != 1 || !isWanted()) return value("a string", RowField::Kind::Text, content.size());
    ++m_outline.values;
    m_outline.hasText = true;
    m_outline.text = std::move(content);
    return true;
  }
  bool start_object(std::size_t) override {
    if (m_depth == 0) return ++m_depth > 0;
    return value("an object", RowField::Kind::Object) && enter();
  }
  bool start_array(std::size_t) override { return value("a list", RowField::Kind::List) && enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (m_depth == 2) m_innerKey = std::move(name);
    if (m_depth != 1) return true;
    m_key = std::move(name);
    m_innerKey.clear();
    if (isWanted() && m_outline.hasText) return fail(fmt::format("the field '{}' appears twice", m_key));
    if (m_outline.fields.size() < mostFieldsOfRow && !m_outline.fields.try_emplace(m_key).second && m_wanted.empty())
      return fail(fmt::format("the field '{}' appears twice", m_key));
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    std::string what = error.what();
    if (const auto bracket = what.find("] "); bracket != std::string::npos) what = what.substr(bracket + 2);
    return fail(fmt::format("not valid JSON at byte {} of the row: {}", position, what.substr(0, 200)));
  }

 private:
  bool isWanted() const { return !m_wanted.empty() && m_key == m_wanted; }
  bool fail(std::string what) {
    m_outline.problem = std::move(what);
    return false;
  }
  bool value(const char* what, RowField::Kind kind, std::size_t length = 0) {
    ++m_outline.values;
    if (m_depth == 0) return fail(fmt::format("the row is {}, expected an object", what));
    if (m_depth != 1) return true;
    if (isWanted()) return fail(fmt::format("the field '{}' is {}, expected a string", m_wanted, what));
    if (const auto field = m_outline.fields.find(m_key); field != m_outline.fields.end())
      field->second = {kind, length};
    return true;
  }
  bool enter() {
    if (++m_depth > deepest) return fail(fmt::format("nested deeper than {} levels", deepest));
    return true;
  }
  bool leave() {
    --m_depth;
    return true;
  }

  RowOutline& m_outline;
  const std::string& m_wanted;
  std::string m_key;      ///< of the row
  std::string m_innerKey; ///< of the object in that field
  int m_depth = 0;
};

} // namespace

RowOutline outlineRow(std::string_view row, const std::string& textField) {
  RowOutline outline;
  // The parser takes a NUL byte for the end and would pass over what follows.
  if (const auto nul = row.find('\0'); nul != std::string_view::npos) {
    outline.problem = fmt::format("byte {} of the row is NUL", nul);
    return outline;
  }
  Reader reader(outline, textField);
  nlohmann::json::sax_parse(row.begin(), row.end(), &reader);
  if (!outline.problem.empty()) outline.hasText = false;
  return outline;
}

} // namespace millrace
