#include "datasets/built_in_templates.h"

namespace troika::datasets {

// Tools follow the text of the system message; calls of tools follow the content of theirs.
const BuiltInTemplate chatml_template = {"chatml", R"jinja(
{%- set turns = messages %}
{%- if tools %}
    {%- set system = '' %}
    {%- if messages[0].role == 'system' %}
        {%- set system = messages[0].content ~ '\n\n' %}
        {%- set turns = messages[1:] %}
    {%- endif %}
    {{- '<|im_start|>system\n' ~ system ~ '<tools>' }}
    {%- for tool in tools %}
        {{- '\n' ~ tool | tojson }}
    {%- endfor %}
    {{- '\n</tools><|im_end|>\n' }}
{%- endif %}
{%- for message in turns %}
    {{- '<|im_start|>' ~ message.role ~ '\n' ~ (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '\n' if message.content or not loop.first }}
        {{- '<tool_call>\n' ~ (call.function or call) | tojson ~ '\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
)jinja",
                                         "<|im_end|>"};

}  // namespace troika::datasets
