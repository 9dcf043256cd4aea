#include "configure/field_labels.h"

#include <QCoreApplication>
#include <array>

namespace millrace::ui {

namespace {

struct Label {
  const char* key;
  const char* text;
};

constexpr std::array<Label, 8> sectionLabels = {{
    {"model", QT_TRANSLATE_NOOP("FieldLabels", "Model")},
    {"tokenizer", QT_TRANSLATE_NOOP("FieldLabels", "Tokenizer")},
    {"data", QT_TRANSLATE_NOOP("FieldLabels", "Data")},
    {"training", QT_TRANSLATE_NOOP("FieldLabels", "Training")},
    {"memory", QT_TRANSLATE_NOOP("FieldLabels", "Memory")},
    {"checkpoint", QT_TRANSLATE_NOOP("FieldLabels", "Checkpoints")},
    {"evaluation", QT_TRANSLATE_NOOP("FieldLabels", "Evaluation")},
    {"samples", QT_TRANSLATE_NOOP("FieldLabels", "Samples")},
}};

constexpr Label labels[] = {
    {"name", QT_TRANSLATE_NOOP("FieldLabels", "Name")},
    {"model.folder", QT_TRANSLATE_NOOP("FieldLabels", "Model folder")},
    {"model.config", QT_TRANSLATE_NOOP("FieldLabels", "Model config")},
    {"tokenizer.file", QT_TRANSLATE_NOOP("FieldLabels", "Tokenizer file")},
    {"tokenizer.train.vocabulary", QT_TRANSLATE_NOOP("FieldLabels", "Vocabulary")},
    {"tokenizer.train.bytes", QT_TRANSLATE_NOOP("FieldLabels", "Text to learn from")},
    {"data.sources", QT_TRANSLATE_NOOP("FieldLabels", "Sources")},
    {"data.sources.path", QT_TRANSLATE_NOOP("FieldLabels", "Files")},
    {"data.sources.format", QT_TRANSLATE_NOOP("FieldLabels", "Format")},
    {"data.sources.text_field", QT_TRANSLATE_NOOP("FieldLabels", "Text field")},
    {"data.sources.separator", QT_TRANSLATE_NOOP("FieldLabels", "Separator line")},
    {"data.sources.sets", QT_TRANSLATE_NOOP("FieldLabels", "Sets")},
    {"data.sources.weight", QT_TRANSLATE_NOOP("FieldLabels", "Weight")},
    {"data.validation_fraction", QT_TRANSLATE_NOOP("FieldLabels", "Held out")},
    {"data.cache", QT_TRANSLATE_NOOP("FieldLabels", "Token cache")},
    {"data.bad_rows", QT_TRANSLATE_NOOP("FieldLabels", "Bad rows")},
    {"data.chat.template", QT_TRANSLATE_NOOP("FieldLabels", "Chat template")},
    {"data.chat.built_in", QT_TRANSLATE_NOOP("FieldLabels", "Built-in chat template")},
    {"data.chat.learn", QT_TRANSLATE_NOOP("FieldLabels", "Learnt of chats")},
    {"data.chat.over_long", QT_TRANSLATE_NOOP("FieldLabels", "Over-long chats")},
    {"training.steps", QT_TRANSLATE_NOOP("FieldLabels", "Steps")},
    {"training.tokens", QT_TRANSLATE_NOOP("FieldLabels", "Tokens")},
    {"training.epochs", QT_TRANSLATE_NOOP("FieldLabels", "Epochs")},
    {"training.hours", QT_TRANSLATE_NOOP("FieldLabels", "Hours")},
    {"training.recipe", QT_TRANSLATE_NOOP("FieldLabels", "Recipe")},
    {"training.context", QT_TRANSLATE_NOOP("FieldLabels", "Context")},
    {"training.micro_batch", QT_TRANSLATE_NOOP("FieldLabels", "Micro-batch")},
    {"training.micro_batches", QT_TRANSLATE_NOOP("FieldLabels", "Micro-batches")},
    {"training.tokens_per_step", QT_TRANSLATE_NOOP("FieldLabels", "Tokens a step")},
    {"training.precision", QT_TRANSLATE_NOOP("FieldLabels", "Precision")},
    {"training.clip", QT_TRANSLATE_NOOP("FieldLabels", "Clipping")},
    {"training.max_grad_norm", QT_TRANSLATE_NOOP("FieldLabels", "Largest gradient norm")},
    {"training.recompute", QT_TRANSLATE_NOOP("FieldLabels", "Recompute")},
    {"training.schedule_group", QT_TRANSLATE_NOOP("FieldLabels", "Schedule group")},
    {"training.slots", QT_TRANSLATE_NOOP("FieldLabels", "Weight slots")},
    {"training.offload_activations", QT_TRANSLATE_NOOP("FieldLabels", "Offload activations")},
    {"training.overlap", QT_TRANSLATE_NOOP("FieldLabels", "Overlap")},
    {"training.learning_rate", QT_TRANSLATE_NOOP("FieldLabels", "Learning rate")},
    {"training.schedule", QT_TRANSLATE_NOOP("FieldLabels", "Schedule")},
    {"training.warmup_steps", QT_TRANSLATE_NOOP("FieldLabels", "Warm-up")},
    {"training.min_learning_rate_ratio", QT_TRANSLATE_NOOP("FieldLabels", "Lowest rate")},
    {"training.decay_fraction", QT_TRANSLATE_NOOP("FieldLabels", "Decay share")},
    {"training.beta1", QT_TRANSLATE_NOOP("FieldLabels", "Beta 1")},
    {"training.beta2", QT_TRANSLATE_NOOP("FieldLabels", "Beta 2")},
    {"training.epsilon", QT_TRANSLATE_NOOP("FieldLabels", "Epsilon")},
    {"training.weight_decay", QT_TRANSLATE_NOOP("FieldLabels", "Weight decay")},
    {"training.max_bad_steps", QT_TRANSLATE_NOOP("FieldLabels", "Bad steps in a row")},
    {"training.seed", QT_TRANSLATE_NOOP("FieldLabels", "Seed")},
    {"training.threads", QT_TRANSLATE_NOOP("FieldLabels", "Threads")},
    {"training.device", QT_TRANSLATE_NOOP("FieldLabels", "Device")},
    {"training.head_chunk", QT_TRANSLATE_NOOP("FieldLabels", "Head chunk")},
    {"memory.vram_limit", QT_TRANSLATE_NOOP("FieldLabels", "Device memory limit")},
    {"memory.ram_limit", QT_TRANSLATE_NOOP("FieldLabels", "Host memory limit")},
    {"memory.placement", QT_TRANSLATE_NOOP("FieldLabels", "Placement")},
    {"memory.nvme.directories", QT_TRANSLATE_NOOP("FieldLabels", "NVMe folders")},
    {"memory.nvme.limit", QT_TRANSLATE_NOOP("FieldLabels", "NVMe limit")},
    {"memory.nvme.shard_size", QT_TRANSLATE_NOOP("FieldLabels", "NVMe file size")},
    {"memory.nvme.compression", QT_TRANSLATE_NOOP("FieldLabels", "NVMe compression")},
    {"checkpoint.every", QT_TRANSLATE_NOOP("FieldLabels", "By steps, every")},
    {"checkpoint.every_minutes", QT_TRANSLATE_NOOP("FieldLabels", "By time, every")},
    {"checkpoint.keep", QT_TRANSLATE_NOOP("FieldLabels", "Keep")},
    {"checkpoint.keep_best", QT_TRANSLATE_NOOP("FieldLabels", "Keep the best")},
    {"evaluation.every", QT_TRANSLATE_NOOP("FieldLabels", "Every")},
    {"evaluation.rows", QT_TRANSLATE_NOOP("FieldLabels", "Rows")},
    {"evaluation.early_stop", QT_TRANSLATE_NOOP("FieldLabels", "Early stop")},
    {"samples.prompts", QT_TRANSLATE_NOOP("FieldLabels", "Prompts")},
    {"samples.every", QT_TRANSLATE_NOOP("FieldLabels", "Every")},
    {"samples.tokens", QT_TRANSLATE_NOOP("FieldLabels", "Length")},
    {"samples.temperature", QT_TRANSLATE_NOOP("FieldLabels", "Temperature")},
    {"samples.top_k", QT_TRANSLATE_NOOP("FieldLabels", "Top k")},
    {"samples.top_p", QT_TRANSLATE_NOOP("FieldLabels", "Top p")},
    {"samples.seed", QT_TRANSLATE_NOOP("FieldLabels", "Seed")},
};

QString translated(const char* text) {
  return QCoreApplication::translate("FieldLabels", text);
}

QString number(double value) {
  return QString::number(value, 'g', 10);
}

QString rangeText(const ProjectField& field) {
  switch (field.kind) {
  case FieldKind::Integer:
    if (field.most == INT64_MAX) return QCoreApplication::translate("FieldLabels", "at least %1").arg(field.least);
    return QCoreApplication::translate("FieldLabels", "%1 to %2")
        .arg(QString::fromStdString(formatCount(field.least)), QString::fromStdString(formatCount(field.most)));
  case FieldKind::Number:
    return QCoreApplication::translate("FieldLabels", "%1 to %2")
        .arg(number(field.leastNumber), number(field.mostNumber));
  case FieldKind::Size:
    return QCoreApplication::translate("FieldLabels", "a size such as 24GiB or 10GB, or a number of bytes");
  case FieldKind::Choice: {
    QStringList words;
    for (const std::string& word : field.words) words << QString::fromStdString(word);
    return words.join(", ");
  }
  default:
    return {};
  }
}

} // namespace

QString fieldLabel(const std::string& key) {
  for (const Label& label : labels)
    if (key == label.key) return translated(label.text);
  return QString::fromStdString(key);
}

QString sectionLabel(const std::string& section) {
  for (const Label& label : sectionLabels)
    if (section == label.key) return translated(label.text);
  return QString::fromStdString(section);
}

QString fallbackText(const ProjectField& field) {
  const QString fallback = QString::fromStdString(field.fallback);
  if (field.kind == FieldKind::Size) {
    const Bytes bytes = fallback.toLongLong();
    return bytes == 0 ? QCoreApplication::translate("FieldLabels", "what is free")
                      : QString::fromStdString(formatBytes(bytes));
  }
  if (field.kind == FieldKind::Choice || field.kind == FieldKind::Text)
    return fallback.mid(1, fallback.size() - 2); // words, without their quotes
  return fallback;
}

QString fieldHelp(const ProjectField& field) {
  QString help = QString::fromStdString(field.meaning).toHtmlEscaped() + "<br><tt>" +
                 QString::fromStdString(field.key).toHtmlEscaped() + "</tt>";
  if (const QString range = rangeText(field); !range.isEmpty())
    help += ": " + (field.unit.empty() ? range : range + " " + QString::fromStdString(field.unit)).toHtmlEscaped();
  if (const QString fallback = fallbackText(field); !fallback.isEmpty())
    help += "<br>" + QCoreApplication::translate("FieldLabels", "Default: %1").arg(fallback.toHtmlEscaped());
  return "<qt>" + help + "</qt>";
}

} // namespace millrace::ui
