//! The functions of libhelics that a federate needs, by name; all of them must be there.
use crate::symbols::table;
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};

pub(super) type Raw = *mut c_void;
pub(super) type Name = *const c_char;

/// `HelicsError`.
#[repr(C)]
pub(super) struct Error {
    pub code: i32,
    pub message: Name,
}

pub(super) type Fault = *mut Error;
type Plain = unsafe extern "C" fn(Raw, Fault);
type Free = unsafe extern "C" fn(Raw);
type Text = unsafe extern "C" fn(Raw, Name, Fault);
type Size = unsafe extern "C" fn(Raw) -> c_int;
type Register = unsafe extern "C" fn(Raw, Name, Name, Name, Fault) -> Raw;
type Put<T> = unsafe extern "C" fn(Raw, T, Fault);
type PutMany<T> = unsafe extern "C" fn(Raw, *const T, c_int, Fault);
type Get<T> = unsafe extern "C" fn(Raw, Fault) -> T;
type GetMany<T> = unsafe extern "C" fn(Raw, *mut T, c_int, *mut c_int, Fault);

// The types are those of `helics.h`.
table! {
    version: "helicsGetVersion" => unsafe extern "C" fn() -> Name;
    core_available: "helicsIsCoreTypeAvailable" => unsafe extern "C" fn(Name) -> c_int;
    close: "helicsCloseLibrary" => unsafe extern "C" fn();
    info: "helicsCreateFederateInfo" => unsafe extern "C" fn() -> Raw;
    info_core: "helicsFederateInfoSetCoreTypeFromString" => Text;
    info_init: "helicsFederateInfoSetCoreInitString" => Text;
    info_time: "helicsFederateInfoSetTimeProperty" => unsafe extern "C" fn(Raw, c_int, f64, Fault);
    info_flag: "helicsFederateInfoSetFlagOption" => unsafe extern "C" fn(Raw, c_int, c_int, Fault);
    info_number: "helicsFederateInfoSetIntegerProperty" => unsafe extern "C" fn(Raw, c_int, c_int, Fault);
    info_free: "helicsFederateInfoFree" => Free;
    federate: "helicsCreateCombinationFederate" => unsafe extern "C" fn(Name, Raw, Fault) -> Raw;
    publication: "helicsFederateRegisterGlobalTypePublication" => Register;
    input: "helicsFederateRegisterGlobalTypeInput" => Register;
    target: "helicsInputAddTarget" => Text;
    endpoint: "helicsFederateRegisterGlobalTargetedEndpoint" =>
        unsafe extern "C" fn(Raw, Name, Name, Fault) -> Raw;
    destination: "helicsEndpointAddDestinationTarget" => Text;
    source: "helicsEndpointAddSourceTarget" => Text;
    depend: "helicsFederateAddDependency" => Text;
    send: "helicsEndpointSendBytesAt" =>
        unsafe extern "C" fn(Raw, *const c_void, c_int, f64, Fault);
    has_message: "helicsEndpointHasMessage" => Size;
    message: "helicsEndpointGetMessage" => unsafe extern "C" fn(Raw) -> Raw;
    message_source: "helicsMessageGetSource" => unsafe extern "C" fn(Raw) -> Name;
    message_time: "helicsMessageGetTime" => unsafe extern "C" fn(Raw) -> f64;
    message_size: "helicsMessageGetByteCount" => Size;
    message_bytes: "helicsMessageGetBytes" => GetMany<c_void>;
    message_free: "helicsMessageFree" => Free;
    put_double: "helicsPublicationPublishDouble" => Put<f64>;
    put_int: "helicsPublicationPublishInteger" => Put<i64>;
    put_bool: "helicsPublicationPublishBoolean" => Put<c_int>;
    put_text: "helicsPublicationPublishString" => Put<Name>;
    put_complex: "helicsPublicationPublishComplex" => unsafe extern "C" fn(Raw, f64, f64, Fault);
    put_vector: "helicsPublicationPublishVector" => PutMany<f64>;
    put_complex_vector: "helicsPublicationPublishComplexVector" => PutMany<f64>;
    put_point: "helicsPublicationPublishNamedPoint" => unsafe extern "C" fn(Raw, Name, f64, Fault);
    put_time: "helicsPublicationPublishTime" => Put<f64>;
    put_char: "helicsPublicationPublishChar" => Put<c_char>;
    put_bytes: "helicsPublicationPublishBytes" => PutMany<c_void>;
    get_double: "helicsInputGetDouble" => Get<f64>;
    get_int: "helicsInputGetInteger" => Get<i64>;
    get_bool: "helicsInputGetBoolean" => Get<c_int>;
    get_text: "helicsInputGetString" => GetMany<c_char>;
    get_complex: "helicsInputGetComplex" => unsafe extern "C" fn(Raw, *mut f64, *mut f64, Fault);
    get_vector: "helicsInputGetVector" => GetMany<f64>;
    get_complex_vector: "helicsInputGetComplexVector" => GetMany<f64>;
    get_point: "helicsInputGetNamedPoint" =>
        unsafe extern "C" fn(Raw, *mut c_char, c_int, *mut c_int, *mut f64, Fault);
    get_time: "helicsInputGetTime" => Get<f64>;
    get_char: "helicsInputGetChar" => Get<c_char>;
    get_bytes: "helicsInputGetBytes" => GetMany<c_void>;
    byte_count: "helicsInputGetByteCount" => Size;
    text_size: "helicsInputGetStringSize" => Size;
    vector_size: "helicsInputGetVectorSize" => Size;
    sent_type: "helicsInputGetPublicationType" => unsafe extern "C" fn(Raw) -> Name;
    sent_unit: "helicsInputGetInjectionUnits" => unsafe extern "C" fn(Raw) -> Name;
    is_updated: "helicsInputIsUpdated" => Size;
    updated_at: "helicsInputLastUpdateTime" => unsafe extern "C" fn(Raw) -> f64;
    enter_initializing: "helicsFederateEnterInitializingMode" => Plain;
    enter_executing: "helicsFederateEnterExecutingMode" => Plain;
    request: "helicsFederateRequestTime" => unsafe extern "C" fn(Raw, f64, Fault) -> f64;
    tag: "helicsFederateSetTag" => unsafe extern "C" fn(Raw, Name, Name, Fault);
    local_error: "helicsFederateLocalError" => unsafe extern "C" fn(Raw, c_int, Name, Fault);
    disconnect: "helicsFederateDisconnect" => Plain;
    query: "helicsCreateQuery" => unsafe extern "C" fn(Name, Name) -> Raw;
    ask: "helicsQueryExecute" => unsafe extern "C" fn(Raw, Raw, Fault) -> Name;
    query_free: "helicsQueryFree" => Free;
    core: "helicsFederateGetCore" => unsafe extern "C" fn(Raw, Fault) -> Raw;
    core_ask: "helicsQueryCoreExecute" => unsafe extern "C" fn(Raw, Raw, Fault) -> Name;
    core_free: "helicsCoreFree" => Free;
    broker: "helicsCreateBroker" => unsafe extern "C" fn(Name, Name, Name, Fault) -> Raw;
    broker_connected: "helicsBrokerIsConnected" => Size;
    broker_disconnect: "helicsBrokerDisconnect" => Plain;
}
