//! A call with its recorded params and answer.

use serde_json::value::RawValue;
use svc_core::journal::{CallEnd, CallPayload, Payload, PayloadOmission};
use svc_protocol::api::{Call, CallDetail};

pub(super) fn detail(call: Call, payload: Option<CallPayload>) -> CallDetail {
    let is_error = call.outcome == CallEnd::MethodError;
    let (params, answer) = payload
        .map(|payload| (payload.params, payload.answer))
        .unzip();
    let (params, params_omitted) = read(params);
    let (answer, result_omitted) = read(answer);
    let (result, error) = match is_error {
        true => (None, answer),
        false => (answer, None),
    };
    CallDetail {
        call,
        params,
        params_omitted,
        result,
        error,
        result_omitted,
    }
}

fn read(payload: Option<Payload>) -> (Option<Box<RawValue>>, Option<PayloadOmission>) {
    match payload.unwrap_or_default() {
        Payload::Absent => (None, None),
        Payload::Omitted(why) => (None, Some(why)),
        Payload::Text(text) => match RawValue::from_string(text.into()) {
            Ok(json) => (Some(json), None),
            Err(_) => (None, Some(PayloadOmission::Unreadable)),
        },
    }
}
