#include "runs/run_filter.h"

#include "runs/run_table_model.h"

#include <algorithm>

namespace millrace::ui {

namespace {

bool isShown(const RunEntry& run, RunsShown shown) {
  switch (shown) {
  case RunsShown::All:
    return true;
  case RunsShown::Live:
    return run.isLive();
  case RunsShown::Finished:
    return run.present && run.outcome == RunOutcome::Finished;
  case RunsShown::Interrupted:
    return run.present && run.outcome == RunOutcome::Interrupted;
  case RunsShown::Failed:
    return run.present && run.outcome == RunOutcome::Failed;
  case RunsShown::Gone:
    break;
  }
  return !run.present;
}

} // namespace

RunFilter::RunFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(RunTableModel::SortRole);
  setSortLocaleAware(true);
}

void RunFilter::setText(const QString& text) {
  m_words = text.simplified().split(u' ', Qt::SkipEmptyParts);
  invalidateFilter();
}

void RunFilter::setShown(RunsShown shown) {
  m_shown = shown;
  invalidateFilter();
}

void RunFilter::setTag(const QString& tag) {
  m_tag = tag;
  invalidateFilter();
}

bool RunFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const RunEntry& run = static_cast<const RunTableModel*>(sourceModel())->run(row);
  if (!isShown(run, m_shown)) return false;
  if (!m_tag.isEmpty() && !run.tags.contains(m_tag)) return false;
  const QString texts[] = {run.path, run.project, run.model, run.reason, run.tags.join(u'\n'), run.notes};
  return std::all_of(m_words.begin(), m_words.end(), [&](const QString& word) {
    return std::any_of(std::begin(texts), std::end(texts),
                       [&](const QString& text) { return text.contains(word, Qt::CaseInsensitive); });
  });
}

} // namespace millrace::ui
