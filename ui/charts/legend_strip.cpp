#include "charts/legend_strip.h"

#include <algorithm>

namespace millrace::ui {

namespace {

constexpr double sampleWidth = 22;
constexpr double gap = 6;
constexpr double between = 14;
constexpr double margin = 4;

/// "a-b_c" as "a-", "b_", "c".
QStringList wordsOf(const QString& name) {
  QStringList words = {QString()};
  for (qsizetype i = 0; i < name.size(); ++i) {
    words.last() += name[i];
    if (!name[i].isLetterOrNumber() && i + 1 < name.size()) words.push_back({});
  }
  return words;
}

} // namespace

QStringList shortNames(const QStringList& names) {
  QList<QStringList> words;
  for (const QString& name : names) words.push_back(wordsOf(name));
  const auto sameInAll = [&](qsizetype fromStart, bool fromEnd) {
    const auto at = [&](const QStringList& of) {
      const qsizetype index = fromEnd ? of.size() - 1 - fromStart : fromStart;
      return index >= 0 && index < of.size() ? of[index] : QString();
    };
    const QString first = at(words.first());
    return !first.isEmpty() &&
           std::all_of(words.begin(), words.end(), [&](const QStringList& of) { return at(of) == first; });
  };
  if (names.size() < 2) return names;
  qsizetype start = 0, end = 0;
  while (sameInAll(start, false)) ++start;
  while (sameInAll(end, true)) ++end;
  const bool alike =
      std::all_of(words.begin(), words.end(), [&](const QStringList& of) { return of.size() == words.first().size(); });
  const QString dots = QStringLiteral("\u2026");
  QStringList result;
  for (qsizetype i = 0; i < names.size(); ++i) {
    QString text;
    for (qsizetype word = start; word < words[i].size() - end; ++word) {
      // Names of the same pattern can be compared word by word.
      const bool leftOut = alike && sameInAll(word, false);
      if (!leftOut) text += words[i][word];
      if (leftOut && !text.endsWith(dots)) text += dots;
    }
    if (text.isEmpty())
      result.push_back(names[i]);
    else
      result.push_back((start > 0 ? dots : QString()) + text + (end > 0 ? dots : QString()));
  }
  return result;
}

LegendStrip::LegendStrip(QCustomPlot* plot) : QCPLayoutElement(plot) {
  setLayer(QStringLiteral("overlay"));
  setMargins({});
}

void LegendStrip::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  painter->setAntialiasing(true);
}

/// The same for every value, so that nothing moves with the cursor.
double LegendStrip::valueWidth(const Entry& entry) const {
  const QFontMetricsF metrics(parentPlot()->font());
  const double value = metrics.horizontalAdvance(QStringLiteral("-0.0000e-0"));
  return entry.namesPosition ? value + metrics.horizontalAdvance(QStringLiteral(" at step 000,000")) : value;
}

double LegendStrip::positionWidth() const {
  return QFontMetricsF(parentPlot()->font()).horizontalAdvance(QStringLiteral("step 0,000,000"));
}

void LegendStrip::place(Layout& layout, double width, double nameWidth) const {
  const QFontMetricsF metrics(parentPlot()->font());
  const auto widthOf = [&](const QString& name) {
    return std::min(nameWidth, std::ceil(metrics.horizontalAdvance(name)) + 1);
  };
  double widest = 0;
  for (const QString& name : layout.names) widest = std::max(widest, widthOf(name));
  // In several lines, entries stand below each other.
  for (const bool aligned : {false, true}) {
    double x = 0;
    int line = 0;
    layout.places.clear();
    for (qsizetype i = 0; i < layout.names.size(); ++i) {
      const double name = aligned ? widest : widthOf(layout.names[i]);
      const double entryWidth = sampleWidth + gap + name + gap + valueWidth(entries[i]);
      const double room = line == 0 ? width - positionWidth() : width;
      if (x > 0 && x + entryWidth > room) {
        x = 0;
        ++line;
      }
      layout.places.push_back({x, line, name});
      x += entryWidth + between;
    }
    layout.lines = line + 1;
    if (line == 0) return;
  }
}

/// A quarter of the height at most, as long as names are left of which something can be read.
LegendStrip::Layout LegendStrip::layoutIn(QSize plot) const {
  const QFontMetricsF metrics(parentPlot()->font());
  const double width = plot.width() - 2 * margin;
  const int mostLines = std::max(1, static_cast<int>(plot.height() * 0.25 / metrics.height()));
  const double least = metrics.averageCharWidth() * 10;
  double nameWidth = metrics.averageCharWidth() * 40;
  Layout layout;
  for (const Entry& entry : entries) layout.names.push_back(entry.name);
  place(layout, width, nameWidth);
  const bool tooLong = std::any_of(layout.names.begin(), layout.names.end(),
                                   [&](const QString& name) { return metrics.horizontalAdvance(name) > nameWidth; });
  if (tooLong || layout.lines > mostLines) {
    layout.names = shortNames(layout.names);
    place(layout, width, nameWidth);
  }
  for (; layout.lines > mostLines && nameWidth > least; nameWidth *= 0.97) place(layout, width, nameWidth);
  return layout;
}

int LegendStrip::heightOf(const Layout& layout) const {
  return static_cast<int>(std::ceil(layout.lines * QFontMetricsF(parentPlot()->font()).height())) + 4;
}

int LegendStrip::heightIn(QSize plot) const {
  return heightOf(layoutIn(plot));
}

void LegendStrip::update(UpdatePhase phase) {
  if (phase == upPreparation) {
    m_layout = layoutIn(parentPlot()->viewport().size());
    const int height = heightOf(m_layout);
    setMinimumSize(0, height);
    setMaximumSize(QWIDGETSIZE_MAX, height);
  }
  QCPLayoutElement::update(phase);
}

QString LegendStrip::nameAt(const QPointF& at) const {
  const double height = QFontMetricsF(parentPlot()->font()).height();
  for (qsizetype i = 0; i < std::min(entries.size(), m_layout.places.size()); ++i) {
    const Place& place = m_layout.places[i];
    const QRectF box(rect().left() + margin + place.x, rect().top() + 2 + place.line * height,
                     sampleWidth + gap + place.nameWidth, height);
    if (box.contains(at)) return entries[i].name;
  }
  return {};
}

void LegendStrip::draw(QCPPainter* painter) {
  const QFontMetricsF metrics(parentPlot()->font());
  const double left = rect().left() + margin, top = rect().top() + 2;
  painter->setFont(parentPlot()->font());
  for (qsizetype i = 0; i < std::min(entries.size(), m_layout.places.size()); ++i) {
    const Entry& entry = entries[i];
    const Place& place = m_layout.places[i];
    double x = left + place.x;
    const double y = top + place.line * metrics.height();
    drawSample(*painter, entry.look, QRectF(x, y, sampleWidth, metrics.height()));
    x += sampleWidth + gap;
    painter->setPen(colors.text);
    const QString name = metrics.elidedText(m_layout.names[i], Qt::ElideMiddle, place.nameWidth);
    painter->drawText(QRectF(x, y, place.nameWidth + 1, metrics.height()), Qt::AlignLeft | Qt::AlignVCenter, name);
    x += place.nameWidth + gap;
    painter->drawText(QRectF(x, y, valueWidth(entry) + between, metrics.height()), Qt::AlignLeft | Qt::AlignVCenter,
                      entry.value);
  }
  painter->setPen(colors.dim);
  painter->drawText(QRectF(left, top, rect().width() - 2 * margin, metrics.height()), Qt::AlignRight | Qt::AlignVCenter,
                    position);
}

} // namespace millrace::ui
