// The chat templates that a base model can be taught. They are written for training from scratch on these forms: each
// turn has a beginning, a role and an end that a model can learn to write.
#include "text/chat_template.h"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

struct BuiltIn {
  const char* name;
  const char* source;
};

constexpr std::array<BuiltIn, 4> builtIns = {{
    {"chatml", R"({%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%})"},
    {"llama3", R"({{- bos_token | default('<|begin_of_text|>') -}}
{%- for message in messages -%}
<|start_header_id|>{{ message.role }}<|end_header_id|>

{{ message.content | trim }}<|eot_id|>
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start_header_id|>assistant<|end_header_id|>

{% endif -%})"},
    {"llama2", R"({%- set start = bos_token | default('<s>') -%}
{%- set end = eos_token | default('</s>') -%}
{%- set note = namespace(text='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set note.text = '<<SYS>>\n' ~ message.content | trim ~ '\n<</SYS>>\n\n' -%}
{%- elif message.role == 'user' -%}
{{- start }}[INST] {{ note.text ~ message.content | trim }} [/INST]
{%- set note.text = '' -%}
{%- elif message.role == 'assistant' %} {{ message.content | trim ~ ' ' ~ end }}
{%- else -%}
{{- raise_exception('the built-in template llama2 knows the roles system, user and assistant, not ' ~ message.role) -}}
{%- endif -%}
{%- endfor -%})"},
    {"plain", R"({%- for message in messages -%}
### {{ message.role | capitalize }}:
{{ message.content | trim }}{{ eos_token | default('') if message.role == 'assistant' else '' }}

{% endfor -%}
{%- if add_generation_prompt -%}
### Assistant:
{% endif -%})"},
}};

} // namespace

std::vector<std::string> ChatTemplate::builtInNames() {
  std::vector<std::string> names;
  for (const BuiltIn& entry : builtIns) names.emplace_back(entry.name);
  return names;
}

Result<ChatTemplate> ChatTemplate::builtIn(const std::string& name) {
  for (const BuiltIn& entry : builtIns)
    if (name == entry.name) return parse(entry.source, fmt::format("built-in chat template {}", name));
  return badInput(
      fmt::format("there is no built-in chat template '{}'; there are: {}", name, fmt::join(builtInNames(), ", ")));
}

} // namespace millrace
