#include "datasets/built_in_templates.h"

namespace troika::datasets {

const BuiltInTemplate alpaca_template = {"alpaca", R"jinja(
{%- set turns = messages %}
{%- if messages[0].role == 'system' %}
    {{- messages[0].content ~ '\n\n' }}
    {%- set turns = messages[1:] %}
{%- else %}
    {{- 'Below is an instruction that describes a task. '
        'Write a response that appropriately completes the request.\n\n' }}
{%- endif %}
{%- for message in turns %}
    {%- if message.role == 'user' %}
        {{- '### Instruction:\n' ~ message.content ~ '\n\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '### Response:\n' ~ message.content ~ eos_token ~ '\n\n' }}
    {%- else %}
        {{- raise_exception("the template 'alpaca' has no form for messages of the role '" ~ message.role
                            ~ "'; 'chatml' has") }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '### Response:\n' }}
{%- endif %}
)jinja",
                                         ""};

}  // namespace troika::datasets
