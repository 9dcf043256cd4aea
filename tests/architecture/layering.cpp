#include "architecture/layering.h"

#include "architecture/source_text.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>

namespace millrace {

namespace {

namespace fs = std::filesystem;

// Folders of engine/, lowest level first. A folder may include lower levels, and its own level as far as no circle
// comes of it.
const std::vector<std::vector<std::string>> levels = {
    {"base"},
    {"tensor", "model"},
    {"hardware", "plan", "device"},
    {"ops", "storage"},
    {"stream", "optim"},
    {"probe", "text", "data", "project"},
    {"train", "checkpoint"},
    {"run"},
    {"api"},
};
// The same of ui/.
const std::vector<std::vector<std::string>> uiLevels = {
    {"style"},
    {"bridge", "charts"},
    {"models"},
    {"configure", "feasibility", "train", "runs", "hardware", "playground"}, // pages know nothing of each other
    {"shell"},
};
// Narrower than their level allows.
const std::map<std::string, std::set<std::string>> onlyThese = {
    {"project", {"base", "tensor", "model"}}, {"include", {"base", "tensor", "model"}}, // the public headers: values
};

const std::set<std::string> requiredTop = {"CMakeLists.txt", "CMakePresets.json", "LICENSE",  "README.md", "app",
                                           "engine",         "packaging",         "projects", "tests"};
const std::set<std::string> allowedTop = {"ui", "resources"};

int levelIn(const std::vector<std::vector<std::string>>& order, const std::string& folder) {
  for (std::size_t level = 0; level < order.size(); ++level)
    if (std::find(order[level].begin(), order[level].end(), folder) != order[level].end())
      return static_cast<int>(level);
  return -1;
}

int levelOf(const std::string& folder) {
  return levelIn(levels, folder);
}

bool startsWith(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

std::string firstPart(const std::string& path) {
  return path.substr(0, path.find('/'));
}

std::optional<std::string> readFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

bool isSource(const fs::path& path) {
  static const std::set<std::string> endings = {".h", ".cpp", ".cu", ".cuh", ".inl", ".hpp", ".c", ".cc"};
  return endings.count(path.extension().string()) > 0;
}

struct Include {
  std::string path;
  bool angle = false;
  int line = 0;
};

std::vector<Include> includesOf(const std::string& withoutComments) {
  static const std::regex pattern(R"re(^\s*#\s*include(?:_next)?\s*([<"])([^>"]+)[>"])re");
  std::vector<Include> includes;
  std::size_t begin = 0;
  for (int line = 1; begin <= withoutComments.size(); ++line) {
    const std::size_t end = std::min(withoutComments.find('\n', begin), withoutComments.size());
    std::smatch match;
    const std::string text = withoutComments.substr(begin, end - begin);
    if (text.find("include") != std::string::npos && std::regex_search(text, match, pattern))
      includes.push_back({match[2], match[1] == "<", line});
    begin = end + 1;
  }
  return includes;
}

class Checker {
 public:
  explicit Checker(fs::path root) : m_root(std::move(root)) {}

  std::vector<Violation> check() {
    checkTop();
    for (const std::string& file : allFiles()) {
      const auto text = readFile(m_root / file);
      if (!text) continue;
      checkMentions(file, *text);
      if (!isSource(file)) continue;
      const SourceText source = readSourceText(*text);
      const std::vector<Include> includes = includesOf(source.withoutComments);
      if (startsWith(file, "engine/")) checkEngine(file, source, includes);
      if (startsWith(file, "app/") || startsWith(file, "ui/")) checkPrograms(file, includes);
      if (startsWith(file, "ui/")) checkWindow(file, includes);
    }
    checkCircles();
    return std::move(m_violations);
  }

 private:
  void report(const std::string& file, int line, const std::string& rule) {
    m_violations.push_back({file, line, rule});
  }

  void checkTop() {
    std::set<std::string> present;
    for (const fs::directory_entry& entry : fs::directory_iterator(m_root)) {
      const std::string name = entry.path().filename().string();
      if (name[0] == '.' || name == "build" || name == "compile_commands.json") continue;
      present.insert(name);
      if (!requiredTop.count(name) && !allowedTop.count(name)) report(name, 0, "is not an entry of the top level");
    }
    for (const std::string& name : requiredTop)
      if (!present.count(name)) report(name, 0, "is missing at the top level");
  }

  /// Relative to the root, sorted; without build and version control.
  std::vector<std::string> allFiles() const {
    std::vector<std::string> files;
    for (fs::recursive_directory_iterator entry(m_root), end; entry != end; ++entry) {
      const std::string name = entry->path().filename().string();
      if (entry.depth() == 0 && (name == "build" || name == ".git" || name == ".cache")) {
        entry.disable_recursion_pending();
        continue;
      }
      if (entry->is_regular_file()) files.push_back(entry->path().lexically_relative(m_root).generic_string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  /// Nothing speaks of folders of the place where it was written.
  void checkMentions(const std::string& file, const std::string& text) {
    const std::string place = std::string("/") + "work" + "/";
    if (text.find('\0') != std::string::npos) return; // no text
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + 1)) {
      if (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '.')) continue;
      report(file, static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1,
             "mentions " + place);
    }
  }

  void checkEngine(const std::string& file, const SourceText& source, const std::vector<Include>& includes) {
    const std::string folder = firstPart(file.substr(std::string("engine/").size()));
    const bool isPublic = startsWith(file, "engine/include/engine/");
    if (!isPublic && levelOf(folder) < 0) {
      report(file, 0, "is in no folder that engine/ has");
      return;
    }
    for (const Include& include : includes) {
      checkOutside(file, include);
      const std::string target = firstPart(include.path);
      if (include.path.find('/') == std::string::npos || target == "engine") continue;
      if (include.path.find("..") != std::string::npos) report(file, include.line, "includes by a path with '..'");
      if (target == "ui" || target == "app" || target == "tests" || target == "bridge")
        report(file, include.line, "includes " + include.path + ": the engine knows nothing of what is above it");
      if (levelOf(target) < 0 || target == folder) continue;
      const auto narrow = onlyThese.find(folder);
      if (narrow != onlyThese.end() && !narrow->second.count(target))
        report(file, include.line, "includes " + include.path + ": " + folder + "/ must not depend on " + target + "/");
      else if (narrow == onlyThese.end() && levelOf(target) > levelOf(folder))
        report(file, include.line, "includes " + include.path + ": " + folder + "/ is below " + target + "/");
      else if (levelOf(target) == levelOf(folder))
        m_sameLevel[folder].insert({target, file + ":" + std::to_string(include.line)});
    }
    checkCode(file, source.codeOnly);
    if (source.withoutComments.find("libnvidia-ml") != std::string::npos && folder != "hardware")
      report(file, 0, "loads NVML, which is hardware/'s");
    const std::string ending = fs::path(file).extension().string();
    if ((ending == ".cu" || ending == ".cuh") && !startsWith(file, "engine/device/cuda/"))
      report(file, 0, "is a CUDA source outside of device/cuda/");
  }

  /// Headers of other people's libraries that have one place.
  void checkOutside(const std::string& file, const Include& include) {
    const auto inside = [&](const std::string& pattern) { return std::regex_search(file, std::regex(pattern)); };
    static const std::regex cuda("^(cuda|cublas|cufft|curand|cusolver|cusparse|nvrtc|nccl|nvtx|cub/|thrust/|mma\\.h|"
                                 "cooperative_groups|device_launch_parameters|driver_types)");
    static const std::regex vectors("^(.*intrin\\.h|arm_neon\\.h|arm_sve\\.h)$");
    static const std::regex dnnl("(^|/)dnnl");
    if (include.angle && include.path[0] == 'Q')
      report(file, include.line, "includes <" + include.path + ">: there is no Qt in engine/");
    if (std::regex_search(include.path, cuda) && !inside("^engine/device/cuda/"))
      report(file, include.line, "includes " + include.path + ": CUDA headers are for device/cuda/");
    if (include.path.find("nvml") != std::string::npos && !inside("^engine/hardware/"))
      report(file, include.line, "includes " + include.path + ": NVML is for hardware/");
    if (std::regex_search(include.path, vectors) && !inside("^engine/device/[a-z]+/ops/"))
      report(file, include.line, "includes " + include.path + ": kernels are for device/*/ops/");
    if (std::regex_search(include.path, dnnl) && !inside("^engine/device/cpu/"))
      report(file, include.line, "includes " + include.path + ": oneDNN is for device/cpu/");
  }

  /// Whether the patterns of checkCode() could match: they are slow, and nearly no line has such a word.
  static bool suspicious(const std::string& text) {
    for (const char* word : {"print", "put", "perror", "exit", "Exit", "abort", "terminate", "cout", "cerr", "clog"})
      if (text.find(word) != std::string::npos) return true;
    return false;
  }

  /// Calls that a library must not make, and kernels out of their place.
  void checkCode(const std::string& file, const std::string& code) {
    // Not a member (x.exit(), x->exit()) and not part of a longer name; qualified by std:: or the global namespace.
    static const std::regex calls("(?:^|[^\\w.>:]|[^-]>|(?:\\bstd|[^\\w]|^)::)"
                                  "(v?f?printf|vprintf|puts|fputs|putchar|perror|exit|_exit|_Exit|quick_exit|abort|"
                                  "terminate)\\s*\\(");
    static const std::regex streams("\\bstd\\s*::\\s*(w?cout|w?cerr|w?clog|print|println)\\b|\\bfmt\\s*::\\s*print");
    std::size_t begin = 0;
    for (int line = 1; begin <= code.size(); ++line) {
      const std::size_t end = std::min(code.find('\n', begin), code.size());
      const std::string text = code.substr(begin, end - begin);
      std::smatch match;
      if (suspicious(text) && std::regex_search(text, match, calls))
        report(file, line, "calls " + match[1].str() + "(): an engine neither prints nor ends the program");
      if (suspicious(text) && std::regex_search(text, match, streams))
        report(file, line, "uses " + match[0].str() + ": an engine does not print");
      if (text.find("__global__") != std::string::npos && !startsWith(file, "engine/device/cuda/ops/"))
        report(file, line, "defines a kernel: kernels are for device/cuda/ops/");
      begin = end + 1;
    }
  }

  /// The programs and the window see the engine through its public headers alone.
  void checkPrograms(const std::string& file, const std::vector<Include>& includes) {
    const bool headless = startsWith(file, "app/cli/");
    for (const Include& include : includes) {
      const std::string target = firstPart(include.path);
      if (headless && include.angle && include.path[0] == 'Q')
        report(file, include.line, "includes <" + include.path + ">: the headless program has no Qt");
      if (target == "engine") continue;
      if (include.angle && (levelOf(target) < 0 || include.path.find('/') == std::string::npos)) continue;
      if (include.path.size() > 4 && include.path.substr(include.path.size() - 4) == ".moc") continue;
      if (isOwn(file, include.path, headless)) continue;
      report(file, include.line,
             "includes " + include.path + ": ui/ and app/ include engine/... and their own headers");
    }
  }

  /// Folders of the window have an order too, and only its bridge has threads.
  void checkWindow(const std::string& file, const std::vector<Include>& includes) {
    static const std::set<std::string> threads = {
        "thread",      "mutex",  "condition_variable", "future",  "QThread",
        "QThreadPool", "QMutex", "QtConcurrent",       "QFuture", "QFutureWatcher"};
    const std::string folder = firstPart(file.substr(std::string("ui/").size()));
    const int level = levelIn(uiLevels, folder);
    if (level < 0) {
      report(file, 0, "is in no folder that ui/ has");
      return;
    }
    for (const Include& include : includes) {
      const std::string target = firstPart(include.path);
      if (include.angle && threads.count(target) && folder != "bridge")
        report(file, include.line, "includes <" + include.path + ">: threads are ui/bridge's");
      const int other = include.angle ? -1 : levelIn(uiLevels, target);
      if (other < 0 || target == folder) continue;
      if (other >= level)
        report(file, include.line, "includes " + include.path + ": ui/" + folder + "/ is not above ui/" + target + "/");
    }
  }

  bool isOwn(const std::string& file, const std::string& include, bool headless) const {
    const fs::path beside = m_root / fs::path(file).parent_path() / include;
    if (fs::exists(beside)) {
      const std::string resolved =
          beside.lexically_normal().lexically_relative(m_root.lexically_normal()).generic_string();
      return startsWith(resolved, firstPart(file) + "/");
    }
    std::vector<std::string> roots = {"app", "app/cli"};
    if (!headless) roots = {"ui", "app", "app/workbench"};
    if (startsWith(file, "ui/")) roots = {"ui"};
    return std::any_of(roots.begin(), roots.end(),
                       [&](const std::string& root) { return fs::exists(m_root / root / include); });
  }

  void checkCircles() {
    for (const auto& [start, edges] : m_sameLevel) {
      std::set<std::string> reached;
      const std::function<void(const std::string&)> visit = [&](const std::string& folder) {
        const auto entry = m_sameLevel.find(folder);
        if (entry == m_sameLevel.end()) return;
        for (const auto& edge : entry->second)
          if (reached.insert(edge.first).second) visit(edge.first);
      };
      visit(start);
      if (reached.count(start))
        report(edges.begin()->second, 0,
               "is part of a circle: " + start + "/ depends on " + edges.begin()->first + "/, and that on it");
    }
  }

  fs::path m_root;
  std::vector<Violation> m_violations;
  std::map<std::string, std::map<std::string, std::string>> m_sameLevel; // folder -> folder it includes -> where
};

} // namespace

std::vector<Violation> checkTree(const std::filesystem::path& root) {
  return Checker(root).check();
}

std::string describe(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += violation.file;
    if (violation.line > 0) text += ":" + std::to_string(violation.line);
    text += ": " + violation.rule + "\n";
  }
  return text;
}

} // namespace millrace
