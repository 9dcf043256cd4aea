// Columns of doubles with a growing number of rows, for metrics that may become too many for memory. Rows gather in
// memory, a chunk at a time; full chunks are written to a nameless temporary file and read back through a mapping, so
// that the system may drop their pages. Nothing is ever written through a mapping: a full disk is an error of a write,
// never a SIGBUS, and from then on chunks stay in memory. Owned by whoever makes it; one thread at a time.
#pragma once

#include "engine/step_metrics.h" // Result

#include <QCoreApplication>
#include <QString>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::ui {

class ColumnFile {
  Q_DECLARE_TR_FUNCTIONS(millrace::ui::ColumnFile)

 public:
  static constexpr int chunkShift = 13;
  static constexpr std::int64_t chunkRows = std::int64_t{1} << chunkShift;

  /// The file is made in `folder`, which is made if need be, once a chunk is full. Without a folder all is in memory.
  explicit ColumnFile(int columns, QString folder = {});
  ~ColumnFile();
  ColumnFile(ColumnFile&& other) noexcept;
  ColumnFile& operator=(ColumnFile&& other) noexcept;

  int columns() const { return m_columns; }
  std::int64_t rows() const { return m_rows; }
  double value(int column, std::int64_t row) const {
    return m_chunks[static_cast<std::size_t>(row >> chunkShift)]
        .data()[(std::int64_t{column} << chunkShift) + (row & (chunkRows - 1))];
  }

  /// Adds whole rows, one after the other. DoesNotFit when there is no memory; rows() then tells how many were added.
  Result<void> append(std::span<const double> values);
  /// Forgets the rows from `rows` on.
  void truncate(std::int64_t rows);

  /// Why chunks stay in memory, for the person who sees the charts; empty when they do not.
  const QString& notice() const { return m_notice; }
  std::int64_t fileBytes() const { return m_fileBytes; }

 private:
  /// Pages of memory or of the file.
  class Chunk {
   public:
    Chunk() = default;
    ~Chunk();
    Chunk(Chunk&& other) noexcept;
    Chunk& operator=(Chunk&& other) noexcept;
    static Chunk inMemory(std::size_t bytes);
    static Chunk ofFile(int file, std::int64_t offset, std::size_t bytes);

    double* data() { return m_data; }
    const double* data() const { return m_data; }
    bool isWritable() const { return m_writable; }
    explicit operator bool() const { return m_data != nullptr; }

   private:
    Chunk(void* data, std::size_t bytes, bool writable);

    double* m_data = nullptr;
    std::size_t m_bytes = 0;
    bool m_writable = false;
  };

  std::size_t chunkBytes() const;
  Result<void> openChunk();
  void writeOut(std::size_t chunk);
  void keepInMemory(int error);

  int m_columns = 0;
  QString m_folder;
  std::int64_t m_rows = 0;
  std::vector<Chunk> m_chunks;
  int m_file = -1;
  std::int64_t m_fileBytes = 0;
  bool m_useFile = false;
  QString m_notice;
};

/// One column, for as long as the file lives.
class ColumnView {
 public:
  ColumnView(const ColumnFile& file, int column) : m_file(&file), m_column(column) {}
  double operator[](std::int64_t row) const { return m_file->value(m_column, row); }

 private:
  const ColumnFile* m_file;
  int m_column;
};

} // namespace millrace::ui
